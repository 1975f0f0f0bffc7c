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

// The term by which it leads, or none when it follows. Nothing while the role is not known.
std::optional<Term> place_of(const Candidate& candidate) {
  const Snapshot seen = candidate.snapshot();
  if (seen.is_leader) return seen.term;
  return seen.role == Role::follower ? std::optional(Term{}) : std::nullopt;
}

std::optional<Error> check_once(const std::optional<Term>& place, const Checks& checks) {
  if (!place) return std::nullopt;
  if (place->exists()) return call(checks.on_leader_check, "the leader's check");
  return call(checks.on_follower_check, "the follower's check");
}

// Waits for an event, and takes all that have come. Whether one of them tells of a role.
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
  std::optional<Term> checked;
  while (!stop.stop_requested() && !stopped) {
    const bool news = take_news(*events, next - std::chrono::steady_clock::now(), stopped);
    if (stop.stop_requested() || stopped) break;
    // An event may tell of what was checked before it came.
    const auto place = place_of(candidate);
    const bool changed = news && place != checked;
    if (!changed && std::chrono::steady_clock::now() < next) continue;
    error = check_once(place, checks);
    checked = place;
    if (error && checks.end_on_error) break;
    if (error) candidate.report(*std::exchange(error, std::nullopt));
    next =
        runtime::after(candidate.is_leader() ? checks.leader_interval : checks.follower_interval);
  }
  candidate.stop();
  return error;
}

}  // namespace conclave
