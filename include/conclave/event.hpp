// What happens to a candidate, as events, and the queue to read them from.
//
//   EventQueue& events = candidate.events();
//   while (auto event = events.wait_for(1s)) std::cout << to_string(event->kind) << '\n';
//
// A queue never blocks the candidate. It is bounded: when nobody reads, what has become old news is
// dropped first (extensions, terms that have begun and ended, repeated errors), so that a late
// reader still sees the present state, and elected and lost still alternate. It begins when it is
// first asked for, with what is true at that moment. A capacity below 16 counts as 16, which the
// present state may need, and one above 1024 as 1024: what is old news takes long to tell in more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <conclave/error.hpp>
#include <conclave/export.hpp>
#include <conclave/role.hpp>
#include <conclave/term.hpp>
#include <conclave/time.hpp>

namespace conclave {

namespace runtime {
class Engine;
struct Ready;
}  // namespace runtime

enum class EventKind {
  started,         // campaigns from now on
  follower,        // the store has answered: another one leads, or nobody
  elected,         // leads, with `term`, until `valid_until` unless extended
  extended,        // a renewal was confirmed; `valid_until` is later
  jeopardy,        // still leads, but the last renewal failed or went unanswered
  stopping,        // begin nothing new, for `reason`; the stop token has fired
  lost,            // the end of `term`, for `reason`; `at` is the instant it was not valid any more
  leader_changed,  // `leader` leads with `term`, as far as is known; empty when nobody does
  error,           // something failed; the candidate goes on by itself
  stopped,         // the last event until the next start
};

constexpr std::string_view to_string(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::started: return "started";
    case EventKind::follower: return "follower";
    case EventKind::elected: return "elected";
    case EventKind::extended: return "extended";
    case EventKind::jeopardy: return "jeopardy";
    case EventKind::stopping: return "stopping";
    case EventKind::lost: return "lost";
    case EventKind::leader_changed: return "leader_changed";
    case EventKind::error: return "error";
    case EventKind::stopped: return "stopped";
  }
  return "unknown";
}

struct Event {
  EventKind kind{};
  Instant at{};           // when it became true, not when it is read
  Term term{};            // elected, extended, jeopardy, stopping, lost, leader_changed
  Instant valid_until{};  // elected, extended, jeopardy
  std::optional<LossReason> reason{};  // stopping, lost
  std::string leader{};                // leader_changed
  std::optional<Error> error{};        // error
};

// A bounded queue of events. Read it from one thread at a time.
class CONCLAVE_API EventQueue {
 public:
  explicit EventQueue(std::size_t capacity = 64);
  ~EventQueue();
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  [[nodiscard]] std::optional<Event> try_pop();

  // Waits for the next event. Empty when the time has passed.
  [[nodiscard]] std::optional<Event> wait_for(Duration limit);

  // A descriptor that is readable while there are events; for poll(), epoll and event loops.
  // Belongs to the queue: do not read from it and do not close it. Negative when the process has no
  // descriptors left.
  [[nodiscard]] int fd();

  // How many events were dropped because nobody read them in time.
  [[nodiscard]] std::uint64_t missed() const;

  // For those who produce events, such as an observer of your own.
  void push(Event event);

 private:
  friend class runtime::Engine;
  friend struct runtime::Ready;

  // Called each time the queue was empty and is not any more, on the thread that pushes. At once,
  // too, when there are events already. nullptr ends it; a call that is running in another thread
  // is waited for.
  void on_ready(std::function<void()> notify);

  // When it is true, whoever waits has yet to be woken and told. In between, the engine does what
  // is more urgent.
  bool put(Event event);
  void wake();
  void notify();

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace conclave
