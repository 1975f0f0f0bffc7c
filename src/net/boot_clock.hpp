// The machine's clock: CLOCK_BOOTTIME.
#pragma once

#include <time.h>

#include <conclave/time.hpp>

namespace conclave::net {

class BootClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return Instant{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
  }
};

}  // namespace conclave::net
