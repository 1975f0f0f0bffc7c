#include "core/releases.hpp"

#include <algorithm>

#include "core/backoff.hpp"

namespace conclave::core {

void Releases::add(Item item) {
  auto last = items_.before_begin();
  for (auto each = items_.begin(); each != items_.end(); ++each) last = each;
  items_.insert_after(last, item);
}

void Releases::advance(Instant now, Duration request_timeout, OpId& next_op, Outputs& out) {
  for (Item& item : items_) {
    if (item.after) continue;
    if (item.call) {
      if (!item.call->cancelled && now >= item.call->sent + request_timeout) {
        item.call->cancelled = true;
        out.emplace_back(DoCancel{item.call->op});
      }
    } else if (now >= item.due) {
      item.call = InFlight{next_op++, now};
      out.emplace_back(DoResign{item.call->op, item.attempt, item.term, item.was_valid});
    }
  }
}

bool Releases::campaign_answered(OpId op, const CampaignAnswer& answer, Instant now) {
  const auto item = std::find_if(items_.begin(), items_.end(),
                                 [op](const Item& each) { return each.after == op; });
  if (item == items_.end()) return false;
  // Also after a refusal: an earlier campaign of the same attempt may stand.
  if (const auto* granted = std::get_if<Granted>(&answer)) item->term = granted->term;
  item->after.reset();
  item->due = now;
  return true;
}

bool Releases::answered(OpId op, const Answer& answer, Instant now, Duration retry_cap,
                        Random& random) {
  const auto item = std::find_if(items_.begin(), items_.end(), [op](const Item& each) {
    return each.call && each.call->op == op;
  });
  if (item == items_.end()) return false;
  if (std::holds_alternative<Done>(answer) || std::holds_alternative<Gone>(answer)) {
    remove(op);
    return true;
  }
  item->call.reset();
  item->failures += 1;
  item->due = now + backoff(item->failures, retry_cap, random);
  return true;
}

void Releases::remove(OpId op) {
  items_.remove_if([op](const Item& each) { return each.call && each.call->op == op; });
}

bool Releases::quiet() const noexcept {
  return std::all_of(items_.begin(), items_.end(),
                     [](const Item& item) { return !item.after && item.failures > 0; });
}

bool Releases::has(Attempt attempt) const noexcept {
  return std::any_of(items_.begin(), items_.end(),
                     [&](const Item& item) { return item.attempt == attempt; });
}

std::optional<Attempt> Releases::attempt_of(OpId op) const noexcept {
  const auto item = std::find_if(items_.begin(), items_.end(), [op](const Item& each) {
    return each.call && each.call->op == op;
  });
  return item != items_.end() ? std::optional(item->attempt) : std::nullopt;
}

std::optional<Instant> Releases::next_wakeup(Duration request_timeout) const noexcept {
  std::optional<Instant> next;
  for (const Item& item : items_) {
    if (item.after || (item.call && item.call->cancelled)) continue;
    const Instant at = item.call ? item.call->sent + request_timeout : item.due;
    if (!next || at < *next) next = at;
  }
  return next;
}

}  // namespace conclave::core
