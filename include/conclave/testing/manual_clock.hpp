// A clock that stands still until a test moves it.
//
//   conclave::testing::ManualClock clock;
//   clock.advance(250ms);
//   clock.set(clock.now() + 3s);
//
// Hand it to a store in the place of the machine's clock, and a lease of a day expires in a
// microsecond. ManualExecutor moves it by itself, from one due task to the next.
#pragma once

#include <atomic>
#include <cassert>

#include <conclave/time.hpp>

namespace conclave::testing {

// May be read and moved from any thread. Time never goes backwards: asking for it is a bug.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Instant start = Instant{}) noexcept
      : since_epoch_(start.time_since_epoch().count()) {}

  [[nodiscard]] Instant now() const noexcept override {
    return Instant{Duration{since_epoch_.load()}};
  }

  void set(Instant when) noexcept {
    const Duration::rep to = when.time_since_epoch().count();
    [[maybe_unused]] const Duration::rep from = since_epoch_.exchange(to);
    assert(from <= to && "a clock does not go backwards");
  }

  void advance(Duration by) noexcept {
    assert(by >= Duration::zero() && "a clock does not go backwards");
    since_epoch_.fetch_add(by.count());
  }

 private:
  std::atomic<Duration::rep> since_epoch_;
};

}  // namespace conclave::testing
