// What a full event queue forgets: old news first, and never half of a story.
#pragma once

#include <cstddef>
#include <vector>

#include <conclave/event.hpp>

namespace conclave::runtime {

// Makes room in `events` and says how many were dropped. What remains tells the present state, and
// elected and lost still alternate for whoever has read everything before.
std::size_t coalesce(std::vector<Event>& events);

}  // namespace conclave::runtime
