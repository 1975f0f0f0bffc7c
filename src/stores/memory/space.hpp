// What the stores of one process share: the elections, those who observe them, and the lock.
#pragma once

#include <mutex>
#include <unordered_map>

#include "stores/memory/election.hpp"
#include "stores/memory/subscription.hpp"

namespace conclave {
namespace memory {

struct Place {
  Election election;
  Observers observers;

  // Puts into the mail what the observers are to hear.
  void publish(const News& news, Instant now, Mail& mail);
};

}  // namespace memory

// Everything here is used under the lock.
class MemorySpace {
 public:
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock{mutex_}; }

  [[nodiscard]] memory::Place& at(const std::string& election) { return places_[election]; }
  [[nodiscard]] memory::Moment moment(Instant now) { return {now, ++last_stamp_}; }

  void wipe();

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, memory::Place> places_;
  // Outlives a wipe, so that no version ever comes back.
  std::uint64_t last_stamp_ = 0;
};

}  // namespace conclave
