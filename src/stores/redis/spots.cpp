#include "stores/redis/spots.hpp"

namespace conclave::redis {

// Nothing that is empty is the name of an election.
std::string_view Spots::key_of(std::string_view record) const {
  if (!record.starts_with(before_) || !record.ends_with('}')) return {};
  record.remove_prefix(before_.size());
  record.remove_suffix(record.empty() ? 0 : 1);
  return record;
}

std::string Spots::record_of(std::string_view key) const {
  std::string record = before_;
  record += key;
  return record += '}';
}

Spot* Spots::find(std::string_view record) {
  const auto found = spots_.find(key_of(record));
  return found != spots_.end() ? &found->second : nullptr;
}

Spots::Map::iterator Spots::make(std::string_view record) {
  const std::string_view key = key_of(record);
  const auto found = spots_.find(key);
  return found != spots_.end() ? found : spots_.try_emplace(Key(key, &room_)).first;
}

Spot& Spots::at(std::string_view record) { return make(record)->second; }

void Spots::drop_if_idle(std::string_view record) { drop_if_idle(spots_.find(key_of(record))); }

void Spots::drop_if_idle(Map::iterator at) {
  if (at != spots_.end() && !at->second.is_heard() && !at->second.is_led()) spots_.erase(at);
}

void Spots::listen(std::string_view record, Operation operation, std::string_view candidate,
                   Sink sink) {
  const auto at = make(record);
  Operation* last = &at->second.first_ear;
  while (*last != 0) last = &ears_.at(*last).next;
  *last = operation;
  ears_.try_emplace(operation, Ear{Hash{}(candidate), std::move(sink), &at->first});
}

std::optional<std::string> Spots::cancel(Operation operation) {
  const auto ear = ears_.find(operation);
  if (ear == ears_.end()) return std::nullopt;
  const auto at = spots_.find(*ear->second.spot);
  Operation* link = &at->second.first_ear;
  while (*link != operation) link = &ears_.at(*link).next;
  *link = ear->second.next;
  ears_.erase(ear);
  if (at->second.is_heard()) return std::nullopt;
  std::string record = record_of(at->first);
  drop_if_idle(at);
  return record;
}

std::vector<Operation> Spots::ears_on(std::string_view record) {
  std::vector<Operation> ears;
  const Spot* const spot = find(record);
  Operation each = spot != nullptr ? spot->first_ear : 0;
  for (; each != 0; each = ears_.at(each).next) ears.push_back(each);
  return ears;
}

// A sink may cancel itself: a copy of it is called.
void Spots::tell(const std::string& record, const Observation& what) {
  const std::weak_ptr alive = alive_;
  for (const Operation each : ears_on(record)) {
    if (alive.expired()) return;
    const auto ear = ears_.find(each);
    if (ear == ears_.end()) continue;
    const Sink sink = ear->second.sink;
    sink(what);
  }
}

void Spots::tell_turn(const std::string& record, const std::string& candidate) {
  const std::weak_ptr alive = alive_;
  for (const Operation each : ears_on(record)) {
    if (alive.expired()) return;
    const auto ear = ears_.find(each);
    if (ear == ears_.end() || ear->second.candidate != Hash{}(candidate)) continue;
    const Sink sink = ear->second.sink;
    sink(YourTurn{});
  }
}

}  // namespace conclave::redis
