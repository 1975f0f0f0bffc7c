// The clock that Instants belong to, for processes that compare theirs; and lengths as people print
// them.
#pragma once

#include <time.h>

#include <cstdint>

#include <conclave/time.hpp>

namespace conclave::app {

inline std::int64_t boot_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

inline Instant boot_now() { return Instant{Duration{boot_ns()}}; }

inline double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

inline double micros(Duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

}  // namespace conclave::app
