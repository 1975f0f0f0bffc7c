#include <conclave/event.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "net/fork.hpp"
#include "runtime/coalesce.hpp"
#include "runtime/patience.hpp"

namespace conclave {

namespace {

// What it takes to drop old news grows with the square, and is done on the loop.
constexpr std::size_t least_capacity = 16;
constexpr std::size_t most_capacity = 1024;

}  // namespace

struct EventQueue::State {
  explicit State(std::size_t size) : capacity(std::clamp(size, least_capacity, most_capacity)) {}

  std::optional<Event> pop() {
    if (events.empty()) return std::nullopt;
    Event event = std::move(events.front());
    events.erase(events.begin());
    if (events.empty()) lower();
    return event;
  }

  void lower() const {
    if (!signal) return;
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(signal.get(), &count, sizeof count);
  }

  void raise() const {
    if (!signal) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(signal.get(), &one, sizeof one);
  }

  std::mutex mutex;
  std::condition_variable arrived;
  const std::size_t capacity;
  std::vector<Event> events;
  std::function<void()> notify;
  std::recursive_mutex calling;  // it runs, or is being changed; taken before the other one
  net::Descriptor signal;
  net::ForkMark fork;
  std::uint64_t missed = 0;
};

EventQueue::EventQueue(std::size_t capacity) : state_(std::make_unique<State>(capacity)) {}

EventQueue::~EventQueue() {
  if (state_->fork.in_child()) net::leave_alone(std::move(state_));
}

std::optional<Event> EventQueue::try_pop() {
  if (state_->fork.in_child()) return std::nullopt;
  const std::scoped_lock lock(state_->mutex);
  return state_->pop();
}

std::optional<Event> EventQueue::wait_for(Duration limit) {
  if (state_->fork.in_child()) return std::nullopt;
  std::unique_lock lock(state_->mutex);
  state_->arrived.wait_until(lock, runtime::after(limit),
                             [this] { return !state_->events.empty(); });
  return state_->pop();
}

int EventQueue::fd() {
  if (state_->fork.in_child()) return -1;
  const std::scoped_lock lock(state_->mutex);
  if (!state_->signal) {
    state_->signal =
        net::Descriptor::opened_by([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); });
    if (!state_->events.empty()) state_->raise();
  }
  return state_->signal.get();
}

// A copy is called: it may be what replaces the other one.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void EventQueue::on_ready(std::function<void()> notify) {
  if (state_->fork.in_child()) return;
  const std::scoped_lock nobody_calls(state_->calling);
  bool ready = false;
  {
    const std::scoped_lock lock(state_->mutex);
    state_->notify = notify;
    ready = !state_->events.empty();
  }
  if (ready && notify) notify();
}

std::uint64_t EventQueue::missed() const {
  if (state_->fork.in_child()) return 0;
  const std::scoped_lock lock(state_->mutex);
  return state_->missed;
}

void EventQueue::push(Event event) {
  if (!put(std::move(event))) return;
  wake();
  notify();
}

bool EventQueue::put(Event event) {
  const std::scoped_lock lock(state_->mutex);
  auto& events = state_->events;
  const bool was_empty = events.empty();
  if (event.kind == EventKind::extended && !was_empty &&
      events.back().kind == EventKind::extended && events.back().term == event.term) {
    state_->missed += 1;
    events.back() = std::move(event);
    return false;
  }
  events.push_back(std::move(event));
  if (events.size() > state_->capacity) state_->missed += runtime::coalesce(events);
  if (events.empty()) state_->lower();  // nothing of it was worth keeping
  return was_empty;
}

void EventQueue::wake() {
  const std::scoped_lock lock(state_->mutex);
  if (state_->events.empty()) return;  // read already
  state_->raise();
  state_->arrived.notify_one();
}

void EventQueue::notify() {
  const std::scoped_lock calls(state_->calling);
  std::function<void()> notify;
  {
    const std::scoped_lock lock(state_->mutex);
    if (!state_->events.empty()) notify = state_->notify;
  }
  if (notify) notify();
}

}  // namespace conclave
