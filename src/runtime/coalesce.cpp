#include "runtime/coalesce.hpp"

#include <algorithm>

namespace conclave::runtime {
namespace {

// For the newest of these a reader needs nothing of what was said before.
bool is_superseded(const std::vector<Event>& events, std::size_t index) {
  const Event& event = events[index];
  const auto repeated_later = [&](auto same) {
    return std::any_of(events.begin() + static_cast<std::ptrdiff_t>(index) + 1, events.end(), same);
  };
  switch (event.kind) {
    case EventKind::extended:
    case EventKind::jeopardy:
    case EventKind::follower:
    case EventKind::leader_changed:
    case EventKind::started:
    case EventKind::stopped:
      return repeated_later([&](const Event& later) { return later.kind == event.kind; });
    case EventKind::error:
      return repeated_later([&](const Event& later) {
        return later.kind == EventKind::error && later.error == event.error;
      });
    case EventKind::stopping:
      return repeated_later([&](const Event& later) {
        return later.kind == EventKind::lost && later.term == event.term;
      });
    case EventKind::elected:  // only together with its end
    case EventKind::lost: return false;
  }
  return false;
}

std::size_t drop_if(std::vector<Event>& events, const std::vector<bool>& doomed) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (doomed[i]) continue;
    if (kept != i) events[kept] = std::move(events[i]);
    kept += 1;
  }
  const std::size_t dropped = events.size() - kept;
  events.resize(kept);
  return dropped;
}

// Terms that began and ended while nobody read.
void doom_finished_terms(const std::vector<Event>& events, std::vector<bool>& doomed) {
  for (std::size_t begin = 0; begin < events.size(); ++begin) {
    if (events[begin].kind != EventKind::elected) continue;
    const auto of_it = [&](const Event& event) { return event.term == events[begin].term; };
    const bool over = std::any_of(events.begin(), events.end(), [&](const Event& event) {
      return event.kind == EventKind::lost && of_it(event);
    });
    if (!over) continue;
    for (std::size_t i = begin; i < events.size(); ++i) {
      const bool says_who_leads = events[i].kind == EventKind::leader_changed;
      if (of_it(events[i]) && !says_who_leads) doomed[i] = true;
    }
  }
}

}  // namespace

std::size_t coalesce(std::vector<Event>& events) {
  std::vector<bool> doomed(events.size());
  for (std::size_t i = 0; i < events.size(); ++i) doomed[i] = is_superseded(events, i);
  doom_finished_terms(events, doomed);
  std::size_t dropped = drop_if(events, doomed);
  // Errors of many kinds, all different: the oldest go.
  for (auto each = events.begin(); each != events.end() && events.size() > 16;) {
    const bool drops = each->kind == EventKind::error;
    each = drops ? events.erase(each) : each + 1;
    dropped += drops ? 1 : 0;
  }
  return dropped;
}

}  // namespace conclave::runtime
