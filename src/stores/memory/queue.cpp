#include "stores/memory/queue.hpp"

namespace conclave::memory {

std::uint32_t Queue::stand(const Bid& bid, Duration lease, Instant now) {
  const std::uint32_t place = before(bid.attempt) + 1;
  if (place > bids_.size()) bids_.emplace_back();
  bids_[place - 1] = {bid.candidate, bid.metadata, bid.attempt, now, lease, place};
  return place;
}

bool Queue::leave(const Attempt& attempt) {
  return std::erase_if(bids_, [&](const Entry& each) { return each.attempt == attempt; }) != 0;
}

void Queue::leave_as(const std::string& candidate) {
  std::erase_if(bids_, [&](const Entry& each) { return each.candidate == candidate; });
}

void Queue::drop_silent(Duration lease, Instant now) {
  std::erase_if(bids_, [&](const Entry& each) {
    const Duration patience = (each.told + 1) * 2 * std::max(lease, each.lease);
    return now - each.repeated > patience;
  });
}

std::uint32_t Queue::before(const Attempt& attempt) const {
  const auto found = std::find_if(bids_.begin(), bids_.end(),
                                  [&](const Entry& each) { return each.attempt == attempt; });
  return static_cast<std::uint32_t>(found - bids_.begin());
}

bool Queue::has(const Attempt& attempt) const {
  return std::any_of(bids_.begin(), bids_.end(),
                     [&](const Entry& each) { return each.attempt == attempt; });
}

std::vector<Standing> Queue::list() const {
  std::vector<Standing> all;
  all.reserve(bids_.size());
  std::uint32_t place = 0;
  for (const Entry& each : bids_) all.push_back({each.candidate, each.metadata, ++place});
  return all;
}

}  // namespace conclave::memory
