// What makes a candidate unlike all others: entropy, and the id made from it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace conclave::runtime {

// Fresh words from the kernel.
[[nodiscard]] std::array<std::uint64_t, 4> random_words();

// The host's name and sixteen random hexadecimal digits.
[[nodiscard]] std::string make_id();

}  // namespace conclave::runtime
