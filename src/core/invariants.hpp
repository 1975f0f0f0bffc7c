// What is true of a machine after every step, whatever happened. Checked by an assertion in debug
// builds and by the simulator in all.
#pragma once

#include <optional>
#include <string_view>

#include <conclave/time.hpp>

namespace conclave::core {

class Machine;

// The sentence that does not hold, or nothing.
[[nodiscard]] std::optional<std::string_view> broken_invariant(const Machine& machine, Instant now);

}  // namespace conclave::core
