// Who is told that a queue has something to read: the runtime alone, for it is told on the loop,
// where user code never runs. Users have EventQueue::fd() and wait_for().
#pragma once

#include <functional>
#include <utility>

#include <conclave/event.hpp>

namespace conclave::runtime {

struct Ready {
  static void tell(EventQueue& queue, std::function<void()> notify) {
    queue.on_ready(std::move(notify));
  }
};

}  // namespace conclave::runtime
