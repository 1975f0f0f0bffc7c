// What the stores of one process share: the elections, those who observe them, and the lock.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "stores/memory/election.hpp"

namespace conclave {
namespace memory {

// Somebody who wants to hear of an election. It is told on its own executor, and falls silent at
// once when `over` is set, also for what was posted before.
struct Subscription {
  Subscription(std::string name, std::string who, Sink tells, Executor& where)
      : election(std::move(name)),
        candidate(std::move(who)),
        sink(std::move(tells)),
        executor(where) {}

  std::string election;
  std::string candidate;
  Sink sink;
  Executor& executor;
  std::atomic<bool> over{false};

  static void tell(const std::shared_ptr<Subscription>& who,
                   std::shared_ptr<const Observation> what);
};

}  // namespace memory

// Everything here is used under the lock.
class MemorySpace {
 public:
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock{mutex_}; }

  [[nodiscard]] memory::Election& at(const std::string& election) {
    return places_[election].election;
  }
  [[nodiscard]] memory::Moment moment(Instant now) { return {now, ++last_stamp_}; }

  void subscribe(std::shared_ptr<memory::Subscription> subscription);
  void unsubscribe(const std::shared_ptr<memory::Subscription>& subscription);
  void publish(const std::string& election, memory::News news);

  void wipe();

 private:
  struct Place {
    memory::Election election;
    std::vector<std::shared_ptr<memory::Subscription>> observers;
  };

  std::mutex mutex_;
  std::unordered_map<std::string, Place> places_;
  // Outlives a wipe, so that no version ever comes back.
  std::uint64_t last_stamp_ = 0;
};

}  // namespace conclave
