// Events as lines: JSON for programs, words for people.
#pragma once

#include <string>

#include <conclave/event.hpp>

#include "apps/conclave/restraint.hpp"

namespace conclave::app {

// {"event":"elected","at_ns":...,"election":...,"candidate":...,"term":...,"valid_until_ns":...}
[[nodiscard]] std::string json_line(const Event& event, const std::string& election,
                                    const std::string& candidate, const Repeats& repeats = {});

// 12:03:04.123 elected, term 7
[[nodiscard]] std::string readable_line(const Event& event, const Repeats& repeats = {});

// The time of day, to the millisecond.
[[nodiscard]] std::string time_of_day();

}  // namespace conclave::app
