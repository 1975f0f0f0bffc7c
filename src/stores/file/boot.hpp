// Which start of the machine this is. What was not synced lives until the next one.
#pragma once

#include <cstdint>

namespace conclave::file {

struct Boot {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  // Zeros where it cannot be known; then nothing is taken for granted.
  [[nodiscard]] constexpr bool known() const noexcept { return high != 0 || low != 0; }
  friend constexpr bool operator==(const Boot&, const Boot&) noexcept = default;
};

// Asked anew each time: a process that was saved and restored may live in another one.
[[nodiscard]] Boot this_boot() noexcept;

}  // namespace conclave::file
