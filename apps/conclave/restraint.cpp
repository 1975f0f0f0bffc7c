#include "apps/conclave/restraint.hpp"

#include "apps/conclave/clock.hpp"
#include "apps/conclave/output.hpp"

namespace conclave::app {
namespace {

// The store has answered, so the next error is news.
bool is_recovery(const Event& event) {
  return event.kind == EventKind::follower || event.kind == EventKind::elected ||
         event.kind == EventKind::extended ||
         (event.kind == EventKind::leader_changed && !event.leader.empty());
}

}  // namespace

std::optional<Repeats> Restraint::take(const Event& event) {
  if (is_recovery(event)) told_.clear();
  if (event.kind != EventKind::error || !event.error) return Repeats{};
  std::erase_if(told_, [&](const auto& each) { return event.at - each.second.last > 2 * pace_; });
  const auto [found, is_new] = told_.try_emplace(event.error->message, Told{event.at, event.at, 0});
  if (is_new) return Repeats{};
  Told& told = found->second;
  told.last = event.at;
  ++told.times;
  if (event.at - told.at < pace_) return std::nullopt;
  const Repeats repeats{told.times, event.at - told.at};
  told = {event.at, event.at, 0};
  return repeats;
}

std::string error_sentence(const Error& error, const Repeats& repeats) {
  std::string text = error.message;
  if (!error.retryable) text += "; this does not heal by itself, and is tried again all the same";
  if (repeats.times > 1) {
    text += " (still, " + std::to_string(repeats.times) + " times in " +
            human(seconds(repeats.within)) + ")";
  }
  return text;
}

}  // namespace conclave::app
