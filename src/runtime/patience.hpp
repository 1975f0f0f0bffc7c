// Time limits of those who wait, as users write them.
#pragma once

#include <algorithm>
#include <chrono>

#include <conclave/time.hpp>

namespace conclave::runtime {

// Who says "for ever" writes Duration::max(): no sum with it may overflow.
[[nodiscard]] inline Duration bounded(Duration limit) noexcept {
  constexpr Duration ages = std::chrono::hours{24 * 365 * 50};
  return std::clamp(limit, -ages, ages);
}

[[nodiscard]] inline std::chrono::steady_clock::time_point after(Duration limit) {
  return std::chrono::steady_clock::now() + bounded(limit);
}

}  // namespace conclave::runtime
