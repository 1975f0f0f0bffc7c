// Standing for election: bids, looks, wake-ups, cool-down, and getting out of the way.
#include <algorithm>

#include "core/backoff.hpp"
#include "core/machine.hpp"
#include "core/takeover.hpp"

namespace conclave::core {
namespace {

// Over how long the looks of those who stand in no line are spread at most: what the end of a lease
// costs beyond it. Who gets the place tells the others, so that most of a crowd need not ask.
constexpr Duration longest_spread = std::chrono::milliseconds{5};

}  // namespace

// Goes on as a candidate, in the way that the present circumstances allow.
void Machine::stand(Instant now) {
  if (stop_asked_ || ended_) return finish();
  if (!healthy_) {
    state_ = Gated{};
  } else if (cool_down_ && now < cool_down_->until) {
    state_ = *cool_down_;
  } else {
    cool_down_.reset();
    state_ = Retrying{now};
  }
}

void Machine::send_campaign(Instant now) {
  if (!attempt_) attempt_ = Attempt{random_->next(), random_->next()};
  const OpId op = next_op_++;
  out_->emplace_back(DoCampaign{op, *attempt_, highest_term_seen_, evidence_.at(now)});
  state_ = Bidding{InFlight{op, now}};
}

void Machine::answered(const Granted& granted, Instant now) {
  role_known_ = true;
  if (std::get<Bidding>(state_).session_lost) {
    // Whether the grant still stands only the store knows: the same attempt again.
    state_ = Retrying{now};
    return;
  }
  if (granted.term <= highest_term_seen_) {
    out_->emplace_back(Failed{{ErrorCode::term_regressed,
                               "the store granted term " + std::to_string(granted.term.value) +
                                   " although term " + std::to_string(highest_term_seen_.value) +
                                   " was seen: the answer is late, or the store was wiped or "
                                   "restored; the grant is given back",
                               true, false}});
    releases_.give_back(granted.term, *attempt_, false, now);
    spend(*attempt_);
    attempt_.reset();
    failures_ = std::max(failures_, 1U);
    return retry(now);
  }
  failures_ = 0;
  place_ = 0;
  Tenure held;
  held.term = granted.term;
  held.attempt = *attempt_;
  held.lease = granted.lease;
  held.since = std::min(granted.since, now);
  held.deadline = held.since + hold(granted.lease);
  held.renew_at = settings_.pace->grid.before(held.since + timing().renew_interval);
  held.asked = std::get<Bidding>(state_).campaign.sent;
  const Instant from = valid_from(granted, {now, highest_term_seen_, evidence_.lease()});
  highest_term_seen_ = granted.term;
  attempt_.reset();
  evidence_.clear();
  state_ = Reserved{held, from, from > now};
}

void Machine::answered(const Held& held, Instant now) {
  const bool woken = std::get<Bidding>(state_).woken;
  role_known_ = true;
  failures_ = 0;
  place_ = held.place;
  if (held.record) saw(*held.record, true, now);
  const Instant look = next_look(held, now);
  state_ = Waiting{woken ? now : look, look};
}

void Machine::answered(const Unknown& unknown, Instant now) {
  const bool woken = std::get<Bidding>(state_).woken;
  out_->emplace_back(Failed{unknown.error});
  retry(now);  // with the same attempt: perhaps only the reply was lost
  if (woken) wake(now);
}

void Machine::answered(const Refused& refused, Instant now) {
  if (refused.error.code == ErrorCode::election_ended) {
    state_ = Retrying{now};  // nothing is in flight any more
    return end_election(now);
  }
  if (refused.error.code == ErrorCode::invalid_state) attempt_.reset();  // it was resigned before
  out_->emplace_back(Failed{refused.error});
  failures_ = std::max(failures_, 1U);  // a definite no is not repeated at once
  retry(now);
}

void Machine::retry(Instant now) {
  failures_ += 1;
  state_ = Retrying{now + backoff(failures_, timing().lease, *random_)};
}

// The first in line looks when the record would expire, by the server's word or by its own eyes;
// the r-th every r leases, so that a large fleet costs the store no more than a small one. What the
// server already calls expired is everybody's business.
Instant Machine::next_look(const Held& held, Instant now) {
  const Duration lease = held.record ? held.record->lease : timing().lease;
  if (!held.record && held.look_again_in > Duration::zero()) return now + held.look_again_in;
  const bool judged = held.record && held.record->server_time;
  const bool seems_expired = judged && held.look_again_in <= Duration::zero();
  if (held.place > 1 && !seems_expired) return now + held.place * lease;
  Instant look = now + lease;
  if (const auto ripe = evidence_.ripe_at(); ripe && *ripe > now) look = *ripe;
  // A little late rather than a little early: an early look has to be made again.
  if (held.look_again_in > Duration::zero()) {
    look = std::min(look, now + held.look_again_in + lease / 1500);
  }
  if (held.place == 0) {
    look += random_->between(Duration::zero(), std::min(lease / 50, longest_spread));
  }
  return std::max(look, now + lease / 1000);
}

void Machine::wake(Instant at) {
  if (auto* bidding = std::get_if<Bidding>(&state_)) bidding->woken = true;
  if (auto* waiting = std::get_if<Waiting>(&state_))
    waiting->look_at = std::min(waiting->look_at, at);
  if (auto* retrying = std::get_if<Retrying>(&state_)) {
    retrying->retry_at = std::min(retrying->retry_at, at);
  }
}

// What is left in the store of a bid or a term of our own.
bool Machine::is_remnant(Attempt attempt) const {
  const bool spent = attempt == spent_attempt_ && spent_attempt_ != Attempt{};
  return spent || releases_.has(attempt);
}

// A reply or an observation showed who holds the place.
void Machine::saw(const Record& record, bool in_reply, Instant now) {
  if (record.attempt == attempt_) return;        // ours, granted by a reply that we never got
  if (record.term < highest_term_seen_) return;  // restored from the past: counts as absent
  highest_term_seen_ = record.term;
  in_reply ? evidence_.answered(record, now) : evidence_.observed(record, now);
  if (is_remnant(record.attempt)) {  // waited for, but nobody's turn
    // It was given back, and is there again: the store has forgotten that, as after a promotion. A
    // session that renews all that it holds would keep it for ever.
    if (is_taken_back_ && record.attempt == spent_attempt_ && !releases_.has(record.attempt)) {
      releases_.give_back(record.term, record.attempt, false, now);
    }
    return;
  }
  role_known_ = true;
  note_leader(record.leader, record.term);
  if (cool_down_ && record.term > cool_down_->after) cool_down_.reset();
}

void Machine::observed(const Record& record, Instant now) {
  const Tenure* held = tenure();
  if (held != nullptr) {
    if (record.term <= held->term) return;
    leader_term_ = record.term;  // the loss comes first, then who leads instead
    lose(LossReason::superseded, now);
  }
  saw(record, false, now);
  // Somebody was faster: a thousand followers need not all find that out by asking.
  if (auto* waiting = std::get_if<Waiting>(&state_)) waiting->look_at = waiting->planned;
  if (std::holds_alternative<Resting>(state_) && !cool_down_) stand(now);
}

void Machine::observed(const Vacant& vacant, Instant now) {
  if (vacant.term < highest_term_seen_) return;  // old news
  const Tenure* held = tenure();
  const bool superseded = held != nullptr && held->term < vacant.term;
  highest_term_seen_ = vacant.term;
  evidence_.clear();
  if (held != nullptr)
    return lose(superseded ? LossReason::superseded : LossReason::record_gone, now);
  // That nobody leads says nothing about who will: the role is known with the answer to our bid.
  note_leader({}, vacant.term);
  // Somebody else has led and left. What was abandoned may have been our own.
  if (cool_down_ && vacant.term > cool_down_->after && vacant.vacancy != Vacancy::abandoned) {
    cool_down_.reset();
    if (std::holds_alternative<Resting>(state_)) return stand(now);
  }
  const Duration turn = place_ > 1 ? (place_ - 1) * wake_stagger : Duration::zero();
  wake(now + std::min(turn, timing().lease));
}

void Machine::observed(const YourTurn&, Instant now) { wake(now); }

void Machine::observed(const SessionLost&, Instant now) {
  if (tenure() != nullptr) return lose(LossReason::session_lost, now);
  if (auto* bidding = std::get_if<Bidding>(&state_)) bidding->session_lost = true;
  wake(now);
}

void Machine::observed(const Ended&, Instant now) { end_election(now); }

// Takes the bid back.
void Machine::withdraw(Instant now) {
  if (auto* bidding = std::get_if<Bidding>(&state_)) {
    if (!bidding->campaign.cancelled) out_->emplace_back(DoCancel{bidding->campaign.op});
    releases_.withdraw_after(bidding->campaign.op, *attempt_, now);
  } else if (attempt_) {
    releases_.withdraw(*attempt_, now);
  }
  if (attempt_) spend(*attempt_);
  attempt_.reset();
  place_ = 0;
}

// Gives up the bid, or the grant that never became valid.
void Machine::step_aside(Instant now) {
  if (auto* reserved = std::get_if<Reserved>(&state_)) {
    cancel_renewal(reserved->tenure);
    spend(reserved->tenure.attempt);
    release(reserved->tenure, false, now);
  } else {
    withdraw(now);
  }
}

void Machine::rest(Term after, Instant now) {
  // Unless another one has been seen to lead already.
  if (highest_term_seen_ == after) cool_down_ = Resting{now + timing().cool_down, after};
  stand(now);
}

void Machine::note_leader(std::string_view who, Term term) {
  const bool known = who == leader() && (who.empty() || term == leader_term_);
  leader_term_ = term;
  if (known) return;
  is_own_leader_ = who == candidate();
  leader_.reset();
  if (!who.empty() && !is_own_leader_) leader_ = std::make_unique<const std::string>(who);
  out_->emplace_back(LeaderChanged{std::string(who), term});
}

void Machine::end_election(Instant now) {
  ended_ = true;
  if (auto* winding = std::get_if<WindingDown>(&state_)) {
    winding->release_at.reset();
    return;
  }
  if (tenure() != nullptr) return lose(LossReason::election_ended, now);
  // What is in flight may be granted after all, once the election has been removed and begins anew.
  if (std::holds_alternative<Bidding>(state_)) withdraw(now);
  attempt_.reset();
  place_ = 0;
  finish();
}

void Machine::finish() {
  out_->emplace_back(DoCancel{observation_});
  state_ = Stopped{};
}

}  // namespace conclave::core
