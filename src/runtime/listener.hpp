// Hands a candidate's events to user code, one at a time, on the candidate's strand.
#pragma once

#include <functional>
#include <memory>

#include <conclave/event.hpp>

namespace conclave::runtime {

class Engine;

// Whoever keeps the queue keeps the listener. Events that are left when it goes are dropped.
[[nodiscard]] std::shared_ptr<EventQueue> listen(const std::shared_ptr<Engine>& engine,
                                                 std::function<void(const Event&)> hear);

}  // namespace conclave::runtime
