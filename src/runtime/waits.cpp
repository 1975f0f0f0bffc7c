#include <conclave/waits.hpp>

#include <atomic>
#include <functional>

#include "runtime/engine.hpp"
#include "runtime/listener.hpp"
#include "runtime/patience.hpp"

namespace conclave {
namespace {

// How long one wait for an event lasts at most: a candidate that nobody starts has none to come.
constexpr Duration a_while = std::chrono::hours{1};

// Reads events until one of them answers the question, or the time has passed.
template <typename Answer>
std::optional<Answer> wait(Candidate& candidate, std::optional<Duration> limit,
                           const std::function<std::optional<Answer>()>& question,
                           const std::stop_token& stop = {}) {
  const auto events = candidate.subscribe();
  const std::stop_callback wake(stop, [&events] { events->push({.kind = EventKind::error}); });
  const auto until = runtime::after(limit.value_or(a_while));
  while (true) {
    if (auto answer = question()) return answer;
    if (stop.stop_requested() || candidate.role() == Role::stopped) return std::nullopt;
    Duration left = until - std::chrono::steady_clock::now();
    if (limit && left <= Duration::zero()) return std::nullopt;
    if (!limit) left = a_while;
    const auto event = events->wait_for(left);
    if (event && event->kind == EventKind::stopped) return std::nullopt;
  }
}

bool wait_to_lead(Candidate& candidate, std::optional<Duration> limit,
                  const std::stop_token& stop) {
  return wait<bool>(
             candidate, limit,
             [&] { return candidate.is_leader() ? std::optional(true) : std::nullopt; }, stop)
      .value_or(false);
}

}  // namespace

bool wait_until_leader(Candidate& candidate, std::optional<Duration> limit) {
  return wait_to_lead(candidate, limit, {});
}

bool wait_until_leader(Candidate& candidate, const std::stop_token& stop) {
  return wait_to_lead(candidate, std::nullopt, stop);
}

std::optional<Role> wait_until_role_known(Candidate& candidate, std::optional<Duration> limit) {
  return wait<Role>(candidate, limit, [&]() -> std::optional<Role> {
    const Role role = candidate.role();
    if (role == Role::bootstrap || role == Role::stopped) return std::nullopt;
    return role;
  });
}

namespace {

// Somebody waits for a term. The listener and who asked meet here, from two threads.
struct Expectation {
  std::optional<std::promise<Term>> promise{std::in_place};
  std::atomic<const EventQueue*> queue{nullptr};
  std::atomic<bool> over{false};

  void hear(const Event& event, runtime::Engine& engine) {
    if (event.kind != EventKind::elected && event.kind != EventKind::stopped) return;
    if (promise && event.kind == EventKind::elected) promise->set_value(event.term);
    promise.reset();
    over = true;
    if (const auto* kept = queue.load()) engine.let_go(kept);
  }
};

}  // namespace

std::future<Term> future_term(Candidate& candidate) {
  auto expected = std::make_shared<Expectation>();
  auto future = expected->promise->get_future();
  const auto& engine = candidate.engine_;
  const auto queue =
      runtime::listen(engine, [expected, weak = std::weak_ptr(engine)](const Event& event) {
        if (const auto alive = weak.lock()) expected->hear(event, *alive);
      });
  engine->keep(queue);
  expected->queue = queue.get();
  if (expected->over) engine->let_go(queue.get());
  return future;
}

}  // namespace conclave
