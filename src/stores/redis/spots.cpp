#include "stores/redis/spots.hpp"

#include <algorithm>

namespace conclave::redis {

Spot* Spots::find(const std::string& record) {
  const auto found = spots_.find(record);
  return found != spots_.end() ? &found->second : nullptr;
}

void Spots::drop_if_idle(const std::string& record) {
  const auto found = spots_.find(record);
  if (found != spots_.end() && found->second.is_idle()) spots_.erase(found);
}

void Spots::listen(const std::string& record, std::shared_ptr<Ear> ear) {
  const auto [at, made] = spots_.try_emplace(record);
  observations_.emplace(ear->operation, &at->first);
  at->second.ears.push_back(std::move(ear));
}

std::optional<std::string> Spots::cancel(Operation operation) {
  const auto found = observations_.find(operation);
  if (found == observations_.end()) return std::nullopt;
  std::string record = *found->second;
  observations_.erase(found);
  Spot& spot = spots_.at(record);
  const auto ear = std::find_if(spot.ears.begin(), spot.ears.end(),
                                [&](const auto& each) { return each->operation == operation; });
  (*ear)->over = true;
  spot.ears.erase(ear);
  const bool last = spot.ears.empty();
  drop_if_idle(record);
  return last ? std::optional(std::move(record)) : std::nullopt;
}

void Spots::tell(const std::string& record, const Observation& what) {
  const Spot* const spot = find(record);
  if (spot == nullptr) return;
  const auto ears = spot->ears;
  for (const auto& each : ears) {
    if (!each->over) each->sink(what);
  }
}

void Spots::tell_turn(const std::string& record, const std::string& candidate) {
  const Spot* const spot = find(record);
  if (spot == nullptr) return;
  const auto ears = spot->ears;
  for (const auto& each : ears) {
    if (!each->over && each->candidate == candidate) each->sink(YourTurn{});
  }
}

}  // namespace conclave::redis
