// How long to wait before trying again: at once the first time, since most failures are a single
// lost packet, then longer and longer, each time at a random point so that a fleet does not march
// in step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/random.hpp"

namespace conclave::core {

// `failures` counts those in a row, the present one included; `cap` is the longest wait.
[[nodiscard]] inline Duration backoff(std::uint32_t failures, Duration cap, Random& random) {
  if (failures <= 1) return Duration::zero();
  const auto doublings = std::min<std::uint32_t>(failures - 2, 5);
  const Duration longest = std::max(cap / (32 >> doublings), Duration{1});
  return random.between(longest / 2, longest);
}

}  // namespace conclave::core
