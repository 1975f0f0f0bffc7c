// What has to be given back to the store: terms that are over, bids that were abandoned, attempts
// of which nobody knows what became.
//
// A release is tried again and again until the store has answered, also after the candidate has
// stopped. Nothing else waits for it longer than for its first answer.
#pragma once

#include <forward_list>
#include <optional>

#include "core/output.hpp"
#include "core/random.hpp"
#include "core/states.hpp"

namespace conclave::core {

class Releases {
 public:
  // A term that is over: released when it was valid, otherwise abandoned.
  void give_back(Term term, Attempt attempt, bool was_valid, Instant now) {
    add({attempt, term, was_valid, {}, {}, now});
  }

  // A bid of which it is not known whether it was granted meanwhile.
  void withdraw(Attempt attempt, Instant now) { add({attempt, {}, false, {}, {}, now}); }

  // The same, once the campaign that is still in flight has been answered: a withdrawal that
  // overtakes its campaign would find nothing to withdraw.
  void withdraw_after(OpId campaign, Attempt attempt, Instant now) {
    add({attempt, {}, false, campaign, {}, now});
  }

  // Sends what is due and gives up on calls that took too long.
  void advance(Instant now, Duration request_timeout, OpId& next_op, Outputs& out);

  // The answer to a campaign that was given up. True if a release waited for it.
  bool campaign_answered(OpId op, const CampaignAnswer& answer, Instant now);

  // The answer to one of our calls. True if it was one.
  bool answered(OpId op, const Answer& answer, Instant now, Duration retry_cap, Random& random);

  // Nothing waits for its first answer.
  [[nodiscard]] bool quiet() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return items_.empty(); }
  [[nodiscard]] bool has(Attempt attempt) const noexcept;
  // What one of our calls gives back.
  [[nodiscard]] std::optional<Attempt> attempt_of(OpId op) const noexcept;
  [[nodiscard]] std::optional<Instant> next_wakeup(Duration request_timeout) const noexcept;

 private:
  struct Item {
    Attempt attempt;
    std::optional<Term> term;
    bool was_valid = false;
    std::optional<OpId> after;
    std::optional<InFlight> call;
    Instant due;
    std::uint32_t failures = 0;
  };

  void add(Item item);
  void remove(OpId op);

  std::forward_list<Item> items_;  // in the order in which they came; mostly none
};

}  // namespace conclave::core
