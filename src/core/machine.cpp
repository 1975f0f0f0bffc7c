#include "core/machine.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/invariants.hpp"

namespace conclave::core {
namespace {

bool timed_out(const InFlight& call, Duration limit, Instant now) {
  return !call.cancelled && now >= call.sent + limit;
}

}  // namespace

Outputs Machine::step(Instant now, const Input& input) {
  Outputs outputs;
  out_ = &outputs;
  // Deadlines first: whatever arrives after one arrives too late.
  pass_deadlines(now);
  std::visit([&](const auto& each) { on(each, now); }, input);
  advance(now);
  assert(!broken_invariant(*this, now));
  out_ = nullptr;
  return outputs;
}

bool Machine::pass_deadlines(Instant now) {
  const Tenure* held = tenure();
  if (held == nullptr) return false;
  if (now >= held->deadline) {
    expire(now);
    return true;
  }
  if (std::holds_alternative<Leading>(state_) && now >= held->deadline - timing().grace) {
    drain(LossReason::lease_expired, now);
    return true;
  }
  auto* draining = std::get_if<Draining>(&state_);
  if (draining == nullptr || draining->overrun || now < draining->limit) return false;
  overrun(*draining);
  return true;
}

void Machine::advance(Instant now) {
  const Duration limit = timing().request_timeout;
  bool changed = true;
  while (changed) {
    releases_.advance(now, limit, next_op_, *out_);
    changed =
        pass_deadlines(now) || std::visit([&](auto& state) { return advance(state, now); }, state_);
  }
}

bool Machine::advance(Bidding& bidding, Instant now) {
  if (timed_out(bidding.campaign, timing().request_timeout, now)) {
    bidding.campaign.cancelled = true;
    out_->emplace_back(DoCancel{bidding.campaign.op});
  }
  return false;
}

bool Machine::advance(Waiting& waiting, Instant now) {
  if (now < waiting.look_at) return false;
  send_campaign(now);
  return true;
}

bool Machine::advance(Retrying& retrying, Instant now) {
  // What is being given back might be the very place that we are about to bid for.
  if (now < retrying.retry_at || !releases_.quiet()) return false;
  send_campaign(now);
  return true;
}

bool Machine::advance(Resting& resting, Instant now) {
  if (now < resting.until) return false;
  stand(now);
  return true;
}

bool Machine::advance(Reserved& reserved, Instant now) {
  Tenure& held = reserved.tenure;
  reserved.ripe = now >= reserved.valid_from;
  // A grant that had to wait may have been forgotten meanwhile, and somebody else confirmed: only a
  // renewal that was asked for after the wait shows that it was not.
  const bool confirmed = !reserved.waits || held.asked >= reserved.valid_from;
  // A term that would have to stop at once is not begun; a renewal may still bring it to life.
  if (reserved.ripe && confirmed && now < held.deadline - timing().grace) {
    elect();
    return true;
  }
  if (reserved.ripe && !confirmed && held.failures == 0) held.renew_at = now;
  renew_when_due(held, now);
  return false;
}

bool Machine::advance(Leading& leading, Instant now) {
  renew_when_due(leading.tenure, now);
  return false;
}

bool Machine::advance(Draining& draining, Instant now) {
  if (!draining.overrun) renew_when_due(draining.tenure, now);
  return false;
}

bool Machine::advance(WindingDown& winding, Instant now) {
  if (winding.limit && now >= *winding.limit) {
    winding.limit.reset();
    out_->emplace_back(DrainOverrun{winding.term});
  }
  if (!winding.release_at || now < *winding.release_at) return false;
  winding.release_at.reset();
  releases_.give_back(winding.term, winding.attempt, true, now);
  return true;
}

bool Machine::advance(Stopped& stopped, Instant) {
  if (stopped.announced || !releases_.quiet()) return false;
  stopped.announced = true;
  out_->emplace_back(HasStopped{ended_});
  return false;
}

// ---------------------------------------------------------------- inputs

void Machine::on(const Start&, Instant now) {
  const auto* stopped = std::get_if<Stopped>(&state_);
  if (!std::holds_alternative<Idle>(state_) && !(stopped != nullptr && stopped->announced)) {
    out_->emplace_back(
        Failed{{ErrorCode::invalid_state,
                "start() was called while the candidate runs: stop it first", false, false}});
    return;
  }
  stop_asked_ = false;
  ended_ = false;
  role_known_ = false;
  failures_ = 0;
  cool_down_.reset();
  evidence_.clear();
  leader_.reset();
  is_own_leader_ = false;
  leader_term_ = Term{};
  observation_ = next_op_++;
  out_->emplace_back(DoObserve{observation_});
  stand(now);
}

void Machine::on(const Tick&, Instant) {}

void Machine::on(const CampaignDone& done, Instant now) {
  const auto* bidding = std::get_if<Bidding>(&state_);
  if (bidding == nullptr || bidding->campaign.op != done.op) {
    releases_.campaign_answered(done.op, done.answer, now);
    return;
  }
  std::visit([&](const auto& answer) { answered(answer, now); }, done.answer);
}

void Machine::on(const RenewDone& done, Instant now) {
  Tenure* held = tenure();
  if (held == nullptr || !held->renewal || held->renewal->op != done.op) return;
  if (const auto* lost = std::get_if<TermLost>(&done.answer)) {
    held->renewal.reset();
    if (lost->why == LossReason::election_ended) return end_election(now);
    return lose(lost->why, now);
  }
  const auto* draining = std::get_if<Draining>(&state_);
  if (draining != nullptr && draining->overrun) return held->renewal.reset();
  if (const auto* confirmed = std::get_if<Renewed>(&done.answer)) {
    return renewed(*held, *confirmed, now);
  }
  const auto* refused = std::get_if<Refused>(&done.answer);
  if (refused != nullptr && refused->error.code == ErrorCode::election_ended) {
    held->renewal.reset();
    return end_election(now);
  }
  not_renewed(*held, refused != nullptr ? refused->error : std::get<Unknown>(done.answer).error,
              now);
}

void Machine::on(const ResignDone& done, Instant now) {
  if (std::holds_alternative<Done>(done.answer) &&
      releases_.attempt_of(done.op) == spent_attempt_) {
    is_taken_back_ = true;
  }
  releases_.answered(done.op, done.answer, now, timing().lease, *random_);
}

void Machine::on(const Observed& event, Instant now) {
  if (std::holds_alternative<Idle>(state_) || std::holds_alternative<Stopped>(state_)) return;
  std::visit([&](const auto& what) { observed(what, now); }, event.what);
}

void Machine::on(const ResignAsked&, Instant now) {
  if (std::holds_alternative<Leading>(state_)) return drain(LossReason::resigned, now);
  const bool standing =
      std::holds_alternative<Bidding>(state_) || std::holds_alternative<Waiting>(state_) ||
      std::holds_alternative<Retrying>(state_) || std::holds_alternative<Reserved>(state_);
  if (!standing) return;
  step_aside(now);
  rest(highest_term_seen_, now);
}

void Machine::on(const WorkEnded& ended, Instant now) {
  if (auto* leading = std::get_if<Leading>(&state_);
      leading != nullptr && leading->tenure.term == ended.term) {
    drain(LossReason::resigned, now);
  }
  if (auto* draining = std::get_if<Draining>(&state_);
      draining != nullptr && draining->tenure.term == ended.term) {
    return hand_over(now);
  }
  if (auto* winding = std::get_if<WindingDown>(&state_);
      winding != nullptr && winding->term == ended.term) {
    if (winding->release_at) releases_.give_back(winding->term, winding->attempt, true, now);
    after_term(winding->reason, winding->term, now);
  }
}

void Machine::on(const TermLimitDue& due, Instant now) {
  const auto* leading = std::get_if<Leading>(&state_);
  if (leading != nullptr && leading->tenure.term == due.term) drain(LossReason::term_limit, now);
}

void Machine::on(const HealthChanged& change, Instant now) {
  if (healthy_ == change.healthy) return;
  healthy_ = change.healthy;
  if (healthy_) {
    if (std::holds_alternative<Gated>(state_)) stand(now);
    return;
  }
  if (std::holds_alternative<Leading>(state_)) return drain(LossReason::unhealthy, now);
  const bool keeps_its_state =
      std::holds_alternative<Idle>(state_) || std::holds_alternative<Draining>(state_) ||
      std::holds_alternative<WindingDown>(state_) || std::holds_alternative<Stopped>(state_);
  if (keeps_its_state) return;
  step_aside(now);
  stand(now);
}

void Machine::on(const Stop&, Instant now) {
  if (std::holds_alternative<Stopped>(state_)) return;
  if (std::holds_alternative<Idle>(state_)) {
    state_ = Stopped{};
    return;
  }
  stop_asked_ = true;
  if (std::holds_alternative<Leading>(state_)) return drain(LossReason::stopped, now);
  if (std::holds_alternative<Draining>(state_) || std::holds_alternative<WindingDown>(state_))
    return;
  step_aside(now);
  finish();
}

// ---------------------------------------------------------------- what others may ask

bool Machine::leads_at(Instant now) const noexcept {
  const bool holds =
      std::holds_alternative<Leading>(state_) || std::holds_alternative<Draining>(state_);
  return holds && now < tenure()->deadline;
}

bool Machine::at_rest() const noexcept {
  const auto* stopped = std::get_if<Stopped>(&state_);
  return stopped != nullptr && stopped->announced && releases_.empty();
}

Role Machine::role() const noexcept {
  if (std::holds_alternative<Idle>(state_)) return Role::bootstrap;
  if (std::holds_alternative<Leading>(state_)) return Role::leader;
  if (std::holds_alternative<Draining>(state_)) return Role::draining;
  if (std::holds_alternative<WindingDown>(state_)) return Role::draining;
  if (std::holds_alternative<Stopped>(state_)) return Role::stopped;
  return role_known_ ? Role::follower : Role::bootstrap;
}

std::string_view Machine::leader() const noexcept {
  if (leader_) return *leader_;
  return is_own_leader_ ? std::string_view(candidate()) : std::string_view{};
}

Status Machine::status() const noexcept {
  Status status;
  status.role = role();
  status.state = state_name(state_);
  if (const Tenure* held = tenure()) {
    status.term = held->term;
    status.deadline = held->deadline;
    status.attempt = held->attempt;
    status.jeopardy = held->jeopardy;
  }
  status.place = place_;
  status.highest_term_seen = highest_term_seen_;
  status.leader = leader();
  status.leader_term = leader_term_;
  return status;
}

namespace {

void earlier(std::optional<Instant>& best, Instant at) {
  if (!best || at < *best) best = at;
}

void earlier(std::optional<Instant>& best, const InFlight& call, Duration limit) {
  if (!call.cancelled) earlier(best, call.sent + limit);
}

}  // namespace

std::optional<Instant> Machine::next_wakeup() const noexcept {
  const Timing& timing = this->timing();
  std::optional<Instant> next = releases_.next_wakeup(timing.request_timeout);
  if (const auto* bidding = std::get_if<Bidding>(&state_)) {
    earlier(next, bidding->campaign, timing.request_timeout);
  } else if (const auto* waiting = std::get_if<Waiting>(&state_)) {
    earlier(next, waiting->look_at);
  } else if (const auto* retrying = std::get_if<Retrying>(&state_)) {
    if (releases_.quiet()) earlier(next, retrying->retry_at);
  } else if (const auto* resting = std::get_if<Resting>(&state_)) {
    earlier(next, resting->until);
  } else if (const auto* winding = std::get_if<WindingDown>(&state_)) {
    if (winding->release_at) earlier(next, *winding->release_at);
    if (winding->limit) earlier(next, *winding->limit);
  }
  const Tenure* held = tenure();
  if (held == nullptr) return next;
  earlier(next, held->deadline);
  const auto* draining = std::get_if<Draining>(&state_);
  if (draining != nullptr && draining->overrun) return next;
  if (held->renewal) {
    earlier(next, *held->renewal, timing.request_timeout);
  } else {
    earlier(next, held->renew_at);
  }
  if (draining != nullptr) earlier(next, draining->limit);
  if (std::holds_alternative<Leading>(state_)) earlier(next, held->deadline - timing.grace);
  if (const auto* reserved = std::get_if<Reserved>(&state_)) {
    if (!reserved->ripe) earlier(next, reserved->valid_from);
  }
  return next;
}

}  // namespace conclave::core
