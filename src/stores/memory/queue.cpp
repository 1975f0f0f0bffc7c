#include "stores/memory/queue.hpp"

#include <algorithm>

namespace conclave::memory {

std::span<const Queue::Entry> Queue::bids() const {
  if (!line_) return {};
  return line_->bids;
}

template <typename Leaves>
bool Queue::drop(Leaves leaves) {
  if (!line_ || std::erase_if(line_->bids, leaves) == 0) return false;
  if (line_->bids.empty()) line_.reset();
  return true;
}

std::uint32_t Queue::stand(const Bid& bid, Duration lease, Instant now) {
  const std::uint32_t place = before(bid.attempt) + 1;
  if (!line_) line_ = std::make_unique<Line>();
  if (place > line_->bids.size()) line_->bids.emplace_back();
  line_->bids[place - 1] = {bid.candidate, bid.metadata, bid.attempt, now, lease, place};
  return place;
}

bool Queue::leave(const Attempt& attempt) {
  return drop([&](const Entry& each) { return each.attempt == attempt; });
}

void Queue::leave_as(const std::string& candidate) {
  drop([&](const Entry& each) { return each.candidate == candidate; });
}

void Queue::drop_silent(Duration lease, Instant now) {
  drop([&](const Entry& each) {
    const Duration patience = (each.told + 1) * 2 * std::max(lease, each.lease);
    return now - each.repeated > patience;
  });
}

void Queue::call_up(Instant now) {
  if (line_) line_->called = now;
}

Duration Queue::turn_in(std::uint32_t before, Duration longest, Instant now) const {
  if (!line_) return Duration::zero();
  const Duration turn = std::min(before * wake_stagger, longest);
  return std::max(line_->called + turn - now, Duration::zero());
}

std::uint32_t Queue::before(const Attempt& attempt) const {
  const auto all = bids();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Entry& each) { return each.attempt == attempt; });
  return static_cast<std::uint32_t>(found - all.begin());
}

bool Queue::has(const Attempt& attempt) const { return before(attempt) < bids().size(); }

std::vector<Standing> Queue::list() const {
  std::vector<Standing> all;
  all.reserve(bids().size());
  std::uint32_t place = 0;
  for (const Entry& each : bids()) all.push_back({each.candidate, each.metadata, ++place});
  return all;
}

}  // namespace conclave::memory
