#include "stores/memory/space.hpp"

#include <conclave/memory.hpp>

namespace conclave {
namespace memory {

void Subscription::tell(const std::shared_ptr<Subscription>& who,
                        std::shared_ptr<const Observation> what) {
  who->executor.post([who, what = std::move(what)] {
    if (!who->over) who->sink(*what);
  });
}

}  // namespace memory

using memory::Subscription;

void MemorySpace::subscribe(std::shared_ptr<Subscription> subscription) {
  places_[subscription->election].observers.push_back(std::move(subscription));
}

void MemorySpace::unsubscribe(const std::shared_ptr<Subscription>& subscription) {
  subscription->over = true;
  std::erase(places_[subscription->election].observers, subscription);
}

void MemorySpace::publish(const std::string& election, memory::News news) {
  const auto& observers = places_[election].observers;
  if (news.for_all) {
    // One copy for all of them: there may be thousands.
    const auto what = std::make_shared<const Observation>(*std::move(news.for_all));
    for (const auto& each : observers) Subscription::tell(each, what);
  }
  if (!news.turn_of) return;
  const auto turn = std::make_shared<const Observation>(YourTurn{});
  for (const auto& each : observers) {
    if (each->candidate == *news.turn_of) Subscription::tell(each, turn);
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
