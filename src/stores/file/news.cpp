#include "stores/file/news.hpp"

#include <algorithm>
#include <thread>

#include <conclave/names.hpp>

namespace conclave::file {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The kernel tells of the end of a file before it gives up its lock, mostly by a few microseconds.
// So after such news a place that still seems held is looked at again: at once, then soon, then
// less and less often.
constexpr int quick_looks = 10;
constexpr Duration first_pause = microseconds{50};
constexpr Duration longest_pause = milliseconds{100};

// A file that is replaced under our hands is watched anew, this often at a time.
constexpr int most_tries = 4;

bool same(const Observation& a, const Observation& b) {
  if (a.index() != b.index()) return false;
  if (const auto* record = std::get_if<Record>(&a)) {
    return record->version() == std::get<Record>(b).version();
  }
  if (const auto* vacant = std::get_if<Vacant>(&a)) {
    const auto& other = std::get<Vacant>(b);
    return vacant->vacancy == other.vacancy && vacant->term == other.term;
  }
  return true;
}

// Nothing while somebody is about to take the place or to leave it: more news will follow.
std::optional<Observation> present(const Look& look, Term highest) {
  if (!look.content) return Vacant{Vacancy::absent, highest};
  const Content& content = *look.content;
  if (content.ended) return Ended{};
  if (look.held()) return record_of(content.slot);
  if (look.locked) return std::nullopt;
  return Vacant{shown_vacancy(content), content.slot.term};
}

std::string_view leaf_of(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }
std::string folder_of(const std::string& path) { return path.substr(0, path.find_last_of('/')); }

}  // namespace

News::News(net::AsioLoop& loop, Seats& seats, Where where)
    : loop_(loop),
      seats_(seats),
      where_(std::move(where)),
      watch_(loop, [this](std::span<const WatchEvent> events) { heard(events); }) {}

void News::observe(Operation operation, std::string election, std::string candidate, Sink sink) {
  if (check_election_name(election)) return;  // nothing ever happens there
  const auto [found, is_new] = views_.try_emplace(election, Place(where_.directory, election));
  View& view = found->second;
  refresh(election, view);
  auto observer = std::make_shared<Observer>();
  observer->operation = operation;
  observer->candidate = std::move(candidate);
  observer->sink = std::move(sink);
  view.observers.push_back(observer);
  if (view.told) post(observer, std::make_shared<const Observation>(*view.told));
  operations_.emplace(operation, std::move(election));
}

void News::cancel(Operation operation) {
  const auto election = operations_.extract(operation);
  if (election.empty()) return;
  const auto found = views_.find(election.mapped());
  View& view = found->second;
  const auto observer =
      std::find_if(view.observers.begin(), view.observers.end(),
                   [&](const auto& each) { return each->operation == operation; });
  // Outlives its entry: what the sink holds may call us when it is destroyed.
  const auto silenced = *observer;
  silenced->over = true;
  view.observers.erase(observer);
  if (!view.observers.empty()) return;
  unwatch(election.mapped(), view.file_watch);
  unwatch(election.mapped(), view.folder_watch);
  views_.erase(found);
}

void News::look(const std::string& election) {
  if (const auto found = views_.find(election); found != views_.end()) {
    refresh(election, found->second);
  }
}

// ---------------------------------------------------------------- looking

// Whoever leaves writes and closes: one look is enough for both.
void News::heard(std::span<const WatchEvent> events) {
  std::map<std::string, bool> concerned;  // and whether it was closed
  for (const WatchEvent& event : events) {
    for (std::string& election : concerned_by(event)) {
      concerned[std::move(election)] |= event.closed;
    }
    if (event.forgotten) forget(event.watch);
  }
  for (const auto& [election, closed] : concerned) {
    View& view = views_.at(election);
    closed ? chase(election, view) : static_cast<void>(refresh(election, view));
  }
}

std::vector<std::string> News::concerned_by(const WatchEvent& event) const {
  std::vector<std::string> concerned;
  if (event.watch < 0) {
    for (const auto& [election, view] : views_) concerned.push_back(election);
    return concerned;
  }
  const auto [first, last] = watched_.equal_range(event.watch);
  for (auto each = first; each != last; ++each) {
    const bool its_name =
        event.name.empty() || event.name == leaf_of(views_.at(each->second).place.path());
    if (its_name) concerned.push_back(each->second);
  }
  return concerned;
}

bool News::seems_free(const std::string& election) const {
  const auto found = views_.find(election);
  return found != views_.end() && found->second.told &&
         std::holds_alternative<Vacant>(*found->second.told);
}

void News::forget(int watch) {
  const auto [first, last] = watched_.equal_range(watch);
  for (auto each = first; each != last; ++each) {
    View& view = views_.at(each->second);
    if (view.file_watch == watch) view.file_watch = -1;
    if (view.folder_watch == watch) view.folder_watch = -1;
  }
  watched_.erase(first, last);
}

void News::chase(const std::string& election, View& view) {
  view.chase += 1;
  for (int tries = 0; tries < quick_looks; ++tries) {
    if (!refresh(election, view)) return;
    if (seats_.find(election) != nullptr) break;  // our own is not about to go
    std::this_thread::yield();
  }
  look_in(first_pause, election, view.chase);
}

void News::look_in(Duration pause, const std::string& election, std::uint64_t chase) {
  loop_.post_at(loop_.clock().now() + pause,
                [this, pause, election, chase, alive = std::weak_ptr(alive_)] {
                  if (alive.expired()) return;
                  const auto found = views_.find(election);
                  if (found == views_.end() || found->second.chase != chase) return;
                  if (!refresh(election, found->second) || 2 * pause > longest_pause) return;
                  look_in(2 * pause, election, chase);
                });
}

// Looks, and tells what is new. True while somebody has the lock.
bool News::refresh(const std::string& election, View& view) {
  const auto look = watched_look(election, view);
  if (!look) return false;  // whoever bids is told why
  const Seat* seat = seats_.find(election);
  const auto lost = seat != nullptr ? seat->lost_by(*look) : std::nullopt;
  if (lost && *lost != LossReason::election_ended && view.lost != seat->slot().term) {
    view.lost = seat->slot().term;
    view.highest = std::max(view.highest, view.lost);
    tell(view, Vacant{Vacancy::absent, view.lost});
  }
  if (look->content) view.highest = std::max(view.highest, look->content->slot.term);
  const auto now = present(*look, view.highest);
  if (!now) {
    view.told.reset();
  } else if (!view.told || !same(*view.told, *now)) {
    tell(view, *now);
  }
  if (lost) drop_when_told(election, view, seat->slot());
  return look->locked;
}

// A look that no later change can escape.
Result<Look> News::watched_look(const std::string& election, View& view) {
  for (int tries = 0;; ++tries) {
    auto look = view.place.look();
    if (!look || watch(election, view, *look)) return look;
    if (tries < most_tries && watch_.works()) continue;
    // Not everything can be watched: then somebody has to look.
    view.chase += 1;
    look_in(where_.lease / 2, election, view.chase);
    return look;
  }
}

// True when that file, or its absence, was watched already.
bool News::watch(const std::string& election, View& view, const Look& look) {
  bool complete = true;
  const std::string& path = view.place.path();
  if (view.folder_watch < 0) {
    complete = false;
    static_cast<void>(make_directories(folder_of(path)));
    view.folder_watch = watch_.add_folder(folder_of(path));
    if (view.folder_watch >= 0) watched_.emplace(view.folder_watch, election);
  }
  if (!look.content) {
    unwatch(election, view.file_watch);
  } else if (view.file_watch < 0 || view.watched != look.identity) {
    complete = false;
    unwatch(election, view.file_watch);
    view.watched = look.identity;
    view.file_watch = watch_.add_file(path);
    if (view.file_watch >= 0) watched_.emplace(view.file_watch, election);
  }
  return complete;
}

void News::unwatch(const std::string& election, int& watch) {
  if (watch < 0) return;
  const auto [first, last] = watched_.equal_range(watch);
  const auto mine = std::find_if(first, last, [&](const auto& e) { return e.second == election; });
  if (mine != last) watched_.erase(mine);
  if (!watched_.contains(watch)) watch_.remove(watch);
  watch = -1;
}

// ---------------------------------------------------------------- telling

void News::tell(View& view, const Observation& what) {
  view.told = what;
  // One copy for all of them: there may be thousands.
  const auto shared = std::make_shared<const Observation>(what);
  for (const auto& each : view.observers) post(each, shared);
}

void News::post(const std::shared_ptr<Observer>& who, std::shared_ptr<const Observation> what) {
  loop_.post([who, what = std::move(what), alive = std::weak_ptr(alive_)] {
    if (!alive.expired() && !who->over) who->sink(*what);
  });
}

// The lock is given up when the candidate knows: here if it observes, else by its next renewal.
void News::drop_when_told(const std::string& election, const View& view, const Slot& lost) {
  const bool observes =
      std::any_of(view.observers.begin(), view.observers.end(),
                  [&](const auto& each) { return each->candidate == lost.candidate; });
  if (!observes) return;
  loop_.post([this, election, term = lost.term, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) seats_.drop(election, term);
  });
}

}  // namespace conclave::file
