// Waiting for what another thread does, with a hang guard.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include <conclave/executor.hpp>

namespace conclave {

inline constexpr std::chrono::seconds hang_guard{30};

template <typename T>
bool comes(std::future<T>& event) {
  return event.wait_for(hang_guard) == std::future_status::ready;
}

template <typename T>
bool comes(std::future<T>&& event) {
  return comes(event);
}

// Everything that was posted before has run.
inline void settle(Executor& loop) {
  std::promise<void> done;
  loop.post([&] { done.set_value(); });
  ASSERT_TRUE(comes(done.get_future()));
}

}  // namespace conclave
