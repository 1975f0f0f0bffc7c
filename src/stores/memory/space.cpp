#include "stores/memory/space.hpp"

#include <conclave/memory.hpp>

namespace conclave {

void memory::Place::publish(const News& news, Instant now, Mail& mail) {
  if (observers.empty()) return;
  if (news.changed) {
    // One copy for all of them: there may be thousands.
    const auto what = std::make_shared<const Observation>(election.present(now));
    for (Subscription& each : observers) mail.add(each, what);
  }
  if (!news.turn_of) return;
  const auto turn = std::make_shared<const Observation>(YourTurn{});
  for (Subscription& each : observers) {
    if (each.candidate == *news.turn_of) mail.add(each, turn);
  }
}

void MemorySpace::wipe() {
  for (auto& [name, place] : places_) place.election.wipe();
}

std::shared_ptr<MemorySpace> make_memory_space() { return std::make_shared<MemorySpace>(); }

void wipe(MemorySpace& space) {
  const auto lock = space.lock();
  space.wipe();
}

}  // namespace conclave
