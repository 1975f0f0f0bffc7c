// Holding a term: renewals, jeopardy, the two instants, and the ways in which a term ends.
#include <algorithm>

#include "core/backoff.hpp"
#include "core/machine.hpp"

namespace conclave::core {
namespace {

bool is_voluntary(LossReason reason) {
  return reason == LossReason::resigned || reason == LossReason::term_limit ||
         reason == LossReason::unhealthy;
}

}  // namespace

const Tenure* Machine::tenure() const noexcept {
  if (const auto* leading = std::get_if<Leading>(&state_)) return &leading->tenure;
  if (const auto* draining = std::get_if<Draining>(&state_)) return &draining->tenure;
  if (const auto* reserved = std::get_if<Reserved>(&state_)) return &reserved->tenure;
  return nullptr;
}

Tenure* Machine::tenure() noexcept { return const_cast<Tenure*>(std::as_const(*this).tenure()); }

void Machine::renew_when_due(Tenure& held, Instant now) {
  if (!held.renewal) {
    if (now < held.renew_at) return;
    held.renewal = InFlight{next_op_++, now};
    const bool valid = !std::holds_alternative<Reserved>(state_);
    out_->emplace_back(DoRenew{held.renewal->op, held.term, held.attempt, valid});
    return;
  }
  if (held.renewal->cancelled || now < held.renewal->sent + timing().request_timeout) return;
  held.renewal->cancelled = true;
  out_->emplace_back(DoCancel{held.renewal->op});
  jeopardize(held);
}

void Machine::renewed(Tenure& held, const Renewed& answer, Instant now) {
  held.asked = held.renewal->sent;
  held.renew_at = settings_.pace->grid.before(held.asked + timing().renew_interval);
  held.renewal.reset();
  held.failures = 0;
  held.jeopardy = false;
  // Counted from before the request was sent, as the store reports it; never from the reply.
  const Instant since = std::min(answer.since, now);
  if (since <= held.since) return;
  held.since = since;
  held.deadline = since + hold(held.lease);
  if (!std::holds_alternative<Reserved>(state_)) {
    out_->emplace_back(Extended{held.term, held.deadline});
  }
}

void Machine::not_renewed(Tenure& held, const Error& error, Instant now) {
  held.renewal.reset();
  held.failures += 1;
  held.renew_at = now + backoff(held.failures, timing().request_timeout, *random_);
  out_->emplace_back(Failed{error});
  jeopardize(held);
}

void Machine::jeopardize(Tenure& held) {
  if (held.jeopardy || std::holds_alternative<Reserved>(state_)) return;
  held.jeopardy = true;
  out_->emplace_back(Jeopardy{held.term, held.deadline});
}

void Machine::cancel_renewal(Tenure& held) {
  if (held.renewal && !held.renewal->cancelled) out_->emplace_back(DoCancel{held.renewal->op});
  held.renewal.reset();
}

void Machine::elect() {
  const Tenure held = std::get<Reserved>(state_).tenure;
  out_->emplace_back(Elected{held.term, held.deadline});
  note_leader(settings_.candidate, held.term);
  state_ = Leading{held};
}

// The first of the two instants: the stop token fires, and stays fired. Renewals go on.
void Machine::drain(LossReason reason, Instant now) {
  const Tenure held = std::get<Leading>(state_).tenure;
  out_->emplace_back(Stopping{held.term, reason});
  state_ = Draining{held, reason, now + timing().drain_limit};
}

void Machine::overrun(Draining& draining) {
  draining.overrun = true;
  // Its answer is still awaited: a confirmation does not count any more, a definite loss does.
  auto& renewal = draining.tenure.renewal;
  if (renewal && !renewal->cancelled) out_->emplace_back(DoCancel{renewal->op});
  if (renewal) renewal->cancelled = true;
  out_->emplace_back(DrainOverrun{draining.tenure.term});
}

// The second instant: the own clock has reached the deadline. The store may hold the place for us
// longer; it is given back when the work has ended, at the latest a whole lease after `since`. A
// grant that never became valid has no work, and is given back at once.
void Machine::expire(Instant now) {
  if (auto* reserved = std::get_if<Reserved>(&state_)) {
    cancel_renewal(reserved->tenure);
    spend(reserved->tenure.attempt);
    release(reserved->tenure, false, now);
    return stand(now);
  }
  if (std::holds_alternative<Leading>(state_)) drain(LossReason::lease_expired, now);
  auto& draining = std::get<Draining>(state_);
  Tenure& held = draining.tenure;
  cancel_renewal(held);
  const LossReason reason = draining.overrun ? draining.reason : LossReason::lease_expired;
  out_->emplace_back(Lost{held.term, reason, held.deadline});
  note_leader({}, held.term);
  spend(held.attempt);
  const auto limit = draining.overrun ? std::nullopt : std::optional(draining.limit);
  state_ = WindingDown{held.term, held.attempt, draining.reason, held.since + held.lease, limit};
}

// A definite answer: the term is over at once, and there is nothing to give back.
void Machine::lose(LossReason reason, Instant now) {
  cancel_renewal(*tenure());
  spend(tenure()->attempt);
  if (std::holds_alternative<Reserved>(state_)) return stand(now);
  if (std::holds_alternative<Leading>(state_)) drain(reason, now);
  auto& draining = std::get<Draining>(state_);
  out_->emplace_back(Lost{draining.tenure.term, reason, now});
  Tenure& held = draining.tenure;
  if (leader_term_ == held.term) note_leader({}, held.term);
  const auto limit = draining.overrun ? std::nullopt : std::optional(draining.limit);
  state_ = WindingDown{held.term, held.attempt, draining.reason, std::nullopt, limit};
}

// The work has ended: step down first, then let the next one in.
void Machine::hand_over(Instant now) {
  auto draining = std::get<Draining>(state_);
  cancel_renewal(draining.tenure);
  out_->emplace_back(Lost{draining.tenure.term, draining.reason, now});
  note_leader({}, draining.tenure.term);
  spend(draining.tenure.attempt);
  release(draining.tenure, true, now);
  after_term(draining.reason, draining.tenure.term, now);
}

void Machine::release(const Tenure& held, bool was_valid, Instant now) {
  releases_.give_back(held.term, held.attempt, was_valid, now);
}

void Machine::after_term(LossReason reason, Term term, Instant now) {
  if (is_voluntary(reason)) return rest(term, now);
  stand(now);
}

}  // namespace conclave::core
