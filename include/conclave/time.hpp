// Time as Conclave counts it.
//
// An Instant is a reading of CLOCK_BOOTTIME: it never jumps, and it goes on while the machine is
// suspended. The wall clock plays no part in any decision. Nothing in the library reads a clock by
// itself; a Clock is handed in, so that tests can hold it still
// (conclave/testing/manual_clock.hpp).
#pragma once

#include <chrono>

#include <conclave/export.hpp>

namespace conclave {

// All lengths of time. Write them with chrono literals: 3s, 250ms.
using Duration = std::chrono::nanoseconds;

// The clock that an Instant belongs to. It has no now() on purpose: who needs the time is given it.
struct BootTime {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootTime>;
  static constexpr bool is_steady = true;
};
using Instant = BootTime::time_point;

// The clock of a store's server. It may run at another rate, and it may step; therefore it is a
// type of its own, and the compiler refuses to compare it with an Instant.
struct ServerClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<ServerClock>;
  static constexpr bool is_steady = false;
};
using ServerTime = ServerClock::time_point;

// The clock on the wall, for people to read. Nothing is decided by it.
using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

// Where the time comes from. Implementations must be callable from any thread.
class CONCLAVE_API Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const noexcept = 0;
};

}  // namespace conclave
