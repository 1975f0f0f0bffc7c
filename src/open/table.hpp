// The stores of this build; the definition is written by CMake.
#pragma once

#include <span>

#include "net/opener.hpp"

namespace conclave::stores {

[[nodiscard]] std::span<const net::Opener* const> openers() noexcept;

}  // namespace conclave::stores
