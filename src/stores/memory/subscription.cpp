#include "stores/memory/subscription.hpp"

#include <algorithm>
#include <utility>

namespace conclave::memory {

SubscriptionPtr Subscription::make(std::string candidate, Executor& executor, Sink sink) {
  return SubscriptionPtr{new Subscription(std::move(candidate), executor, std::move(sink))};
}

void Mail::add(Subscription& who, std::shared_ptr<const Observation> what) {
  auto bag = std::find_if(bags_.begin(), bags_.end(),
                          [&](const Bag& each) { return each.executor == &who.executor; });
  if (bag == bags_.end()) bag = bags_.insert(bag, Bag{&who.executor});
  bag->letters.push_back({&who, std::move(what)});
}

void Mail::post() {
  for (Bag& each : bags_) {
    each.executor->post([letters = std::move(each.letters)]() mutable { deliver(letters); });
  }
  bags_.clear();
}

void Mail::deliver(std::vector<Letter>& letters) {
  for (Letter& each : letters) {
    // Each is let go as soon as it was told, not when all were.
    const Letter letter = std::move(each);
    if (!letter.who->over) letter.who->sink(*letter.what);
  }
}

void Subscriptions::add(Operation operation, SubscriptionPtr subscription) {
  all_.push_back({operation, std::move(subscription)});
}

SubscriptionPtr Subscriptions::take(Operation operation) {
  const auto found =
      std::lower_bound(all_.begin(), all_.end(), operation,
                       [](const Entry& each, Operation wanted) { return each.operation < wanted; });
  if (found == all_.end() || found->operation != operation) return nullptr;
  SubscriptionPtr subscription = std::exchange(found->subscription, nullptr);
  // Swept now and then, so that each costs little however many there are.
  if (subscription && ++taken_ > all_.size() / 2) {
    std::erase_if(all_, [](const Entry& each) { return !each.subscription; });
    taken_ = 0;
  }
  return subscription;
}

}  // namespace conclave::memory
