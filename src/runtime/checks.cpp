#include <conclave/checks.hpp>

#include "runtime/contain.hpp"
#include "runtime/patience.hpp"

namespace conclave {
namespace {

std::optional<Error> call(const Check& check, const char* name) {
  if (!check) return std::nullopt;
  std::optional<Error> error;
  if (auto thrown = runtime::contain(name, [&] { error = check(); })) return thrown;
  return error;
}

// One check of the present role. Nothing to do while the role is not known.
std::optional<Error> check_once(const Candidate& candidate, const Checks& checks) {
  if (candidate.is_leader()) return call(checks.on_leader_check, "the leader's check");
  if (candidate.role() != Role::follower) return std::nullopt;
  return call(checks.on_follower_check, "the follower's check");
}

// Waits for an event, and takes all that have come. Whether one of them changes the role.
bool take_news(EventQueue& events, Duration limit, bool& stopped) {
  bool news = false;
  for (auto event = events.wait_for(limit); event; event = events.try_pop()) {
    stopped |= event->kind == EventKind::stopped;
    news |= event->kind == EventKind::elected || event->kind == EventKind::lost ||
            event->kind == EventKind::follower;
  }
  return news;
}

}  // namespace

std::optional<Error> run_checks(Candidate& candidate, const std::stop_token& stop,
                                const Checks& checks) {
  for (const auto& [name, interval] : {std::pair{"leader_interval", checks.leader_interval},
                                       std::pair{"follower_interval", checks.follower_interval}}) {
    if (interval <= Duration::zero()) {
      throw std::invalid_argument(std::string(name) + " has to be longer than nothing");
    }
  }
  const auto events = candidate.subscribe();
  candidate.start();
  const std::stop_callback wake(stop, [&events] { events->push({.kind = EventKind::error}); });
  std::optional<Error> error;
  bool stopped = candidate.role() == Role::stopped;  // in a forked child nothing starts
  auto next = std::chrono::steady_clock::now();
  while (!stop.stop_requested() && !stopped) {
    const bool changed = take_news(*events, next - std::chrono::steady_clock::now(), stopped);
    if (stop.stop_requested() || stopped) break;
    if (!changed && std::chrono::steady_clock::now() < next) continue;
    error = check_once(candidate, checks);
    if (error && checks.end_on_error) break;
    if (error) candidate.report(*std::exchange(error, std::nullopt));
    next =
        runtime::after(candidate.is_leader() ? checks.leader_interval : checks.follower_interval);
  }
  candidate.stop();
  return error;
}

}  // namespace conclave
