// With a healthy store somebody leads within r + 1 leases, r the rank of the first waiter alive.
// Clocks that are 10 % slow, a reservation that has to be waited for, and a cool-down come on top.
#pragma once

#include "simulation/clocks.hpp"
#include "simulation/verdict.hpp"

namespace conclave::sim {

class Liveness {
 public:
  void disturbed(Real until) {
    if (until > quiet_since_) quiet_since_ = until;
  }
  void led_until(Real until) {
    led_until_ = until;
    worst_rank_ = 0;
  }

  void check(Real now, std::uint32_t rank, Duration lease, Verdict& verdict) {
    if (!verdict.is_clean()) return;
    const Real since = led_until_ > quiet_since_ ? led_until_ : quiet_since_;
    // Who is first now may have been told a later place when it last looked.
    if (rank > worst_rank_) worst_rank_ = rank;
    const Duration allowed = (worst_rank_ + 1) * lease * 23 / 20 + 3 * lease;
    if (now - since > allowed) {
      verdict.broken("with a healthy store somebody leads",
                     "nobody for " + std::to_string((now - since).count() / 1'000'000) +
                         " ms, rank " + std::to_string(rank));
    }
  }

 private:
  Real quiet_since_{};
  Real led_until_{};
  std::uint32_t worst_rank_ = 0;
};

}  // namespace conclave::sim
