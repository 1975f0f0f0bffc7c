#include "stores/postgres/ears.hpp"

#include <algorithm>
#include <utility>

namespace conclave::postgres {

bool Ears::listen(const std::string& election, const std::string& candidate, Operation operation,
                  Sink sink) {
  const auto [spot, is_first] = spots_.try_emplace(election);
  spot->second.ears.emplace(operation, Ear{candidate, std::move(sink)});
  elections_.emplace(operation, election);
  return is_first;
}

std::optional<std::string> Ears::cancel(Operation operation) {
  const auto found = elections_.find(operation);
  if (found == elections_.end()) return std::nullopt;
  std::string election = found->second;
  elections_.erase(found);
  const auto spot = spots_.find(election);
  const auto ear = spot->second.ears.find(operation);
  spot->second.waiting.erase(ear->second.candidate);
  spot->second.ears.erase(ear);
  if (!spot->second.ears.empty()) return std::nullopt;
  note_holder(election, 0, {}, {});
  spots_.erase(spot);
  return election;
}

std::vector<std::string> Ears::elections() const {
  std::vector<std::string> names;
  names.reserve(spots_.size());
  for (const auto& [name, spot] : spots_) names.push_back(name);
  return names;
}

void Ears::waits(const std::string& election, const std::string& candidate, bool does) {
  const auto spot = spots_.find(election);
  if (spot == spots_.end()) return;
  if (does) {
    spot->second.waiting.insert(candidate);
  } else {
    spot->second.waiting.erase(candidate);
  }
}

std::vector<std::string> Ears::waiting(const std::string& election) const {
  const auto spot = spots_.find(election);
  if (spot == spots_.end()) return {};
  return {spot->second.waiting.begin(), spot->second.waiting.end()};
}

void Ears::tell(const std::string& election, const Observation& what) {
  tell_some(election, what, [](const Ear&) { return true; });
}

void Ears::ask(const std::string& election, const std::vector<std::string>& candidates) {
  const std::set<std::string> names(candidates.begin(), candidates.end());
  tell_some(election, YourTurn{}, [&](const Ear& each) { return names.contains(each.candidate); });
}

// A sink may cancel itself or another one: a copy of each is called, if it is still there.
void Ears::tell_some(const std::string& election, const Observation& what,
                     const std::function<bool(const Ear&)>& wanted) {
  const auto spot = spots_.find(election);
  if (spot == spots_.end()) return;
  std::vector<Operation> operations;
  for (const auto& [operation, ear] : spot->second.ears) {
    if (wanted(ear)) operations.push_back(operation);
  }
  const std::weak_ptr alive = alive_;
  for (const Operation each : operations) {
    const auto now = spots_.find(election);
    if (now == spots_.end()) return;
    const auto ear = now->second.ears.find(each);
    if (ear == now->second.ears.end()) continue;
    const Sink sink = ear->second.sink;
    sink(what);
    if (alive.expired()) return;
  }
}

bool Ears::note_holder(const std::string& election, std::int64_t life, Term term, Instant now) {
  const auto spot = spots_.find(election);
  if (spot == spots_.end()) return false;
  if (term == spot->second.ended && now < spot->second.ended_until) life = 0;
  const std::int64_t before = std::exchange(spot->second.life, life);
  const Term last = std::exchange(spot->second.term, term);
  if (before != 0 && --counts_[before] == 0) counts_.erase(before);
  if (life != 0) counts_[life] += 1;
  return before != life || last != term;
}

Term Ears::term_of(const std::string& election) const {
  const auto spot = spots_.find(election);
  return spot != spots_.end() ? spot->second.term : Term{};
}

std::vector<std::pair<std::string, Term>> Ears::end_of(std::int64_t life, Instant until) {
  std::vector<std::pair<std::string, Term>> held;
  for (auto& [name, spot] : spots_) {
    if (spot.life != life) continue;
    held.emplace_back(name, spot.term);
    spot.ended = spot.term;
    spot.ended_until = until;
  }
  for (const auto& [name, term] : held) note_holder(name, 0, {}, {});
  return held;
}

std::optional<std::int64_t> Ears::busiest(const std::vector<std::int64_t>& besides) const {
  std::optional<std::int64_t> most;
  for (const auto& [life, count] : counts_) {
    if (std::find(besides.begin(), besides.end(), life) != besides.end()) continue;
    if (!most || count > counts_.at(*most)) most = life;
  }
  return most;
}

}  // namespace conclave::postgres
