// An idle fleet costs the store little: while one leads undisturbed, the first in line looks about
// once per lease, the r-th every r leases.
#pragma once

#include <algorithm>

#include "simulation/clocks.hpp"
#include "simulation/verdict.hpp"

namespace conclave::sim {

class Load {
 public:
  // Something happened after which candidates have a reason to look.
  void disturbed(Real until) {
    quiet_since_ = std::max(quiet_since_, until);
    looks_ = 0;
  }

  void looked(Real now, std::size_t candidates, Duration shortest_lease, Verdict& verdict) {
    if (now < quiet_since_) return;
    looks_ += 1;
    // A renewal may be a third of a lease old when it is seen, so the first looks up to 1.5 times.
    double per_lease = 1.5;
    for (std::size_t rank = 2; rank < candidates; ++rank)
      per_lease += 1.0 / static_cast<double>(rank);
    const double leases = static_cast<double>((now - quiet_since_).count()) /
                          static_cast<double>(shortest_lease.count());
    const double allowed = per_lease * 1.12 * leases + 2.0 * static_cast<double>(candidates);
    if (static_cast<double>(looks_) > allowed) {
      verdict.broken("an idle fleet does not herd", std::to_string(looks_) + " looks");
    }
  }

 private:
  Real quiet_since_{};
  std::uint32_t looks_ = 0;
};

}  // namespace conclave::sim
