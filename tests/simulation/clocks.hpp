// Omniscient time, and the imperfect clocks of processes and servers. Integer arithmetic only, so
// that a seed replays on every machine.
#pragma once

#include <cstdint>

#include <conclave/time.hpp>

namespace conclave::sim {

// Time since the beginning of the simulation, as an all-knowing observer counts it.
using Real = Duration;

// A clock that runs too fast or too slow by so many millionths.
class Rate {
 public:
  explicit constexpr Rate(std::int64_t millionths = 0) : millionths_(millionths) {}

  [[nodiscard]] constexpr Duration shown(Real real) const {
    return real + Duration{real.count() / million * millionths_ +
                           real.count() % million * millionths_ / million};
  }
  // The first instant at which the clock shows at least that much.
  [[nodiscard]] constexpr Real reaches(Duration reading) const {
    const std::int64_t divisor = million + millionths_;
    const std::int64_t count = reading.count();
    Real real{count / divisor * million + count % divisor * million / divisor};
    while (shown(real) < reading) ++real;
    return real;
  }

 private:
  static constexpr std::int64_t million = 1'000'000;
  std::int64_t millionths_;
};

// CLOCK_BOOTTIME of one machine: any rate within the kernel's limits, and it counts suspend.
class ProcessClock {
 public:
  ProcessClock() = default;
  ProcessClock(std::int64_t millionths, Duration origin) : rate_(millionths), origin_(origin) {}

  [[nodiscard]] Instant at(Real real) const { return Instant{origin_ + rate_.shown(real)}; }
  [[nodiscard]] Real reaches(Instant instant) const {
    const Duration reading = instant.time_since_epoch() - origin_;
    return reading <= Duration::zero() ? Real::zero() : rate_.reaches(reading);
  }

  // A machine that sleeps. BOOTTIME does not care; the sum is kept for the mutant that does.
  void sleep(Real from, Real until) { slept_from_ = from, slept_until_ = until; }
  [[nodiscard]] Duration slept(Real real) const {
    if (real < slept_from_) return Duration::zero();
    return (real < slept_until_ ? real : slept_until_) - slept_from_;
  }

 private:
  Rate rate_;
  Duration origin_{};
  Real slept_from_{};
  Real slept_until_{};
};

// The wall clock of a server: has a rate, and may step.
class WallClock {
 public:
  WallClock() = default;
  explicit WallClock(std::int64_t millionths) : rate_(millionths) {}

  [[nodiscard]] ServerTime at(Real real) const { return ServerTime{offset_ + rate_.shown(real)}; }
  [[nodiscard]] Duration elapsed(Real from, Real to) const {
    return rate_.shown(to) - rate_.shown(from);
  }
  [[nodiscard]] const Rate& rate() const { return rate_; }
  void step(Duration by) { offset_ += by; }

 private:
  Rate rate_;
  Duration offset_ = std::chrono::hours{24};
};

}  // namespace conclave::sim
