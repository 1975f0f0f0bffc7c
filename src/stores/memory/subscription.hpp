// Those who observe elections, and how they are told: each on its own executor.
#pragma once

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <conclave/store.hpp>

namespace conclave::memory {

struct Subscription;
// Counted within: there is one for every candidate, and it is put into lists by its address.
using SubscriptionPtr = boost::intrusive_ptr<Subscription>;

using SubscriptionHook = boost::intrusive::list_base_hook<
    boost::intrusive::link_mode<boost::intrusive::link_mode_type::auto_unlink>>;

// Somebody who wants to hear of an election. It falls silent at once when `over` is set, also for
// what was posted before.
struct Subscription : SubscriptionHook, boost::intrusive_ref_counter<Subscription> {
  static SubscriptionPtr make(std::string candidate, Executor& executor, Sink sink);

  std::atomic<bool> over{false};
  Executor& executor;
  const std::string candidate;
  const Sink sink;

 private:
  Subscription(std::string who, Executor& where, Sink tells)
      : executor(where), candidate(std::move(who)), sink(std::move(tells)) {}
};

// The observers of one election, in the order in which they came. Whoever leaves unlinks itself.
using Observers = boost::intrusive::list<Subscription, boost::intrusive::constant_time_size<false>>;

// What observers are to hear of one change or of many. It travels as one task for each executor:
// there may be thousands of observers.
class Mail {
 public:
  void add(Subscription& who, std::shared_ptr<const Observation> what);
  void post();

 private:
  struct Letter {
    SubscriptionPtr who;
    std::shared_ptr<const Observation> what;
  };
  struct Bag {
    Executor* executor = nullptr;
    std::vector<Letter> letters{};
  };

  static void deliver(std::vector<Letter>& letters);

  std::vector<Bag> bags_;
};

// The observations of one store object, found by their operation.
class Subscriptions {
 public:
  // Operations have to grow.
  void add(Operation operation, SubscriptionPtr subscription);
  // None when there is none, or not any more.
  SubscriptionPtr take(Operation operation);

  template <typename Act>
  void for_each(Act act) const {
    for (const Entry& each : all_) {
      if (each.subscription) act(*each.subscription);
    }
  }

 private:
  struct Entry {
    Operation operation{};
    SubscriptionPtr subscription;  // none when it was taken
  };

  // Sorted, as it grows at its end only; a deque, as that wastes no room when it grows.
  std::deque<Entry> all_;
  std::size_t taken_ = 0;
};

}  // namespace conclave::memory
