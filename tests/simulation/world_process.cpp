// The processes: how a machine is driven, what its outputs do, and what is checked on the way.
#include <algorithm>

#include <core/invariants.hpp>

#include "simulation/checks/hold_arithmetic.hpp"
#include "simulation/world.hpp"

namespace conclave::sim {

namespace {

bool is_term_lost(const core::Input& input) {
  const auto* renewal = std::get_if<core::RenewDone>(&input);
  return renewal != nullptr && std::holds_alternative<TermLost>(renewal->answer);
}

std::vector<Pending>::iterator find_pending(Process& process, core::OpId op) {
  return std::find_if(process.pending.begin(), process.pending.end(),
                      [op](const Pending& each) { return each.op == op; });
}

}  // namespace

// In every other world renewals are due on a grid, as the runtime has it.
core::RenewalGrid World::grid(const Process& process) const {
  if (plan_.seed % 2 == 1) return {};
  return {process.plan->timing.lease / 20, process.plan->origin};
}

void World::launch(Process& process) {
  process.incarnation += 1;
  load_.disturbed(now_);
  process.pending.clear();
  process.healthy = true;
  process.has_stopped = false;
  process.work = Term{};
  process.elected.clear();
  process.story = Story(process.id);
  process.give_back = GiveBack{};
  new_session(process);
  process.machine = std::make_unique<core::Machine>(
      core::Settings{process.id, process.plan->timing, grid(process)},
      std::array<std::uint64_t, 4>{random_.next(), random_.next(), random_.next(), random_.next()});
  if (plan_.family == Family::session) {
    events_.push(now_ + process.plan->timing.lease / 4,
                 KeepAliveDue{process.index, process.incarnation});
  }
  step(process, core::Start{});
}

void World::new_session(Process& process) {
  process.session = (std::uint64_t{process.index} << 56U) + random_.next() % (1ULL << 55U);
}

bool World::leads(const Process& process) const {
  return process.machine && process.machine->leads_at(process.clock.at(now_));
}

// A paused process gets everything later, in the order in which it came.
bool World::defer_while_paused(std::uint32_t process, const Event& event) {
  const Real until = processes_[process].paused_until;
  if (until <= now_) return false;
  events_.push(until, event);
  return true;
}

// ---------------------------------------------------------------- what a process gets to know

void World::happen(const WakeUp& event) {
  Process& process = processes_[event.process];
  if (!process.machine || event.token != process.wake_token) return;
  if (defer_while_paused(event.process, event)) return;
  process.wake_at = Real::zero();
  step(process, core::Tick{});
}

void World::happen(const ToProcess& event) {
  Process& process = processes_[event.process];
  if (!process.machine || event.incarnation != process.incarnation) return;
  if (defer_while_paused(event.process, event)) return;
  if (const auto* ended = std::get_if<core::WorkEnded>(&event.input)) {
    if (process.work != ended->term) return;
    process.work = Term{};
  }
  if (const auto* health = std::get_if<core::HealthChanged>(&event.input)) {
    process.healthy = health->healthy;
    process.story.health(health->healthy);
  }
  if (std::holds_alternative<core::Stop>(event.input)) process.story.stop_asked();
  if (std::holds_alternative<core::Start>(event.input)) {
    if (!process.has_stopped) return;
    process.has_stopped = false;
    process.story.started();
    process.story.turn_passed();
  }
  step(process, event.input);
}

void World::happen(const Delivery& event) {
  Process& process = processes_[event.caller.process];
  if (!process.machine || event.caller.incarnation != process.incarnation) return;
  if (defer_while_paused(event.caller.process, event)) return;
  core::OpId op = 0;
  if (const auto* done = std::get_if<core::CampaignDone>(&event.answer)) op = done->op;
  if (const auto* done = std::get_if<core::RenewDone>(&event.answer)) op = done->op;
  if (const auto* done = std::get_if<core::ResignDone>(&event.answer)) op = done->op;
  const auto pending = find_pending(process, op);
  if (pending == process.pending.end()) return;  // given up, or answered by a duplicate
  const Pending call = *pending;
  const Instant sent = call.sent;
  process.pending.erase(pending);

  core::Input input = event.answer;
  if (auto* done = std::get_if<core::CampaignDone>(&input)) {
    if (auto* granted = std::get_if<Granted>(&done->answer)) {
      granted->since = process.chain_since = sent;
      process.counted_from = event.counted_from;
    }
    if (const auto* held = std::get_if<Held>(&done->answer); held != nullptr && held->record) {
      process.story.turn_passed();
    }
    const auto* refused = std::get_if<Refused>(&done->answer);
    if (refused != nullptr && refused->error.code == ErrorCode::invalid_state) {
      process.give_back.dropped();  // the store says that the attempt is over
    }
  }
  if (auto* done = std::get_if<core::RenewDone>(&input)) {
    if (auto* renewed = std::get_if<Renewed>(&done->answer)) {
      renewed->since = plan_.family == Family::session ? process.chain_since : sent;
      process.chain_since = sent;
      process.counted_from = std::max(process.counted_from, event.counted_from);
    }
    const auto* lost = std::get_if<TermLost>(&done->answer);
    if (lost != nullptr && lost->why == LossReason::session_lost) new_session(process);
  }
  step_with(process, input, call);
}

// A definite answer to a renewal of the present term ends it. (One of an earlier term comes late.)
void World::step_with(Process& process, const core::Input& answer, const Pending& call) {
  const bool over = is_term_lost(answer) && call.term == process.machine->status().term;
  step(process, answer);
  process.story.answered(over, leads(process), verdict_);
}

void World::happen(const PushDelivery& event) {
  Process& process = processes_[event.push.to.process];
  if (!process.machine || event.push.to.incarnation != process.incarnation) return;
  if (defer_while_paused(process.index, event)) return;
  if (std::holds_alternative<SessionLost>(event.push.what)) {
    if (event.push.to.session != process.session) return;
    new_session(process);
  }
  step(process, core::Observed{event.push.what});
  if (!std::holds_alternative<Record>(event.push.what)) return;
  process.story.turn_passed();
  process.older_news = std::exchange(process.latest_news, event.push);
}

// Followers keep their session alive without being asked to.
void World::happen(const KeepAliveDue& event) {
  Process& process = processes_[event.process];
  if (!process.machine || event.incarnation != process.incarnation) return;
  if (defer_while_paused(event.process, event)) return;
  const bool cut = process.cut_out && now_ < process.cut_until;
  // Who holds a term mostly keeps the session alive by its renewals alone.
  const bool holds = process.machine->status().term.exists() && random_.chance(0.7);
  const auto delay = travel();
  if (!cut && !holds && delay) {
    const Caller caller{process.index, process.incarnation, process.session, 0};
    events_.push(now_ + *delay, Arrival{caller, 0, KeepAlive{}});
  }
  events_.push(now_ + process.plan->timing.lease / 4, event);
}

// ---------------------------------------------------------------- a step and its outputs

void World::step(Process& process, const core::Input& input) {
  const Instant now = process.clock.at(now_);
  if (trace_ != nullptr) note(process.id + " < " + describe(input));
  for (const core::Output& output : process.machine->step(now, input)) {
    if (trace_ != nullptr) note(process.id + "   > " + describe(output));
    std::visit([&](const auto& each) { carry_out(process, each, input); }, output);
  }
  if (const auto broken = core::broken_invariant(*process.machine, now)) {
    verdict_.broken("core invariant", process.id + ": " + std::string(*broken));
  }
  check_after_step(process);
  schedule_wake(process);
}

void World::check_after_step(Process& process) {
  process.story.role(process.machine->role(), verdict_);
  if (process.machine->status().term.exists()) process.give_back.dropped();  // the bid was granted
  one_leader_.stepped(
      process.index, static_cast<std::uint32_t>(processes_.size()),
      [this](std::uint32_t each) { return leads(processes_[each]); }, verdict_);
  if (leads(process)) liveness_.led_until(now_);
}

void World::schedule_wake(Process& process) {
  const auto next = process.machine->next_wakeup();
  if (!next) {
    process.wake_token += 1;
    process.wake_at = Real::zero();
    return;
  }
  const Real at = std::max(process.clock.reaches(*next), now_);
  if (at == process.wake_at) return;
  process.wake_at = at;
  process.wake_token += 1;
  const Duration late =
      is_calm() ? Duration::zero() : random_.between(Duration::zero(), Duration{300'000});
  events_.push(at + late, WakeUp{process.index, process.wake_token});
}

void World::carry_out(Process& process, const core::DoCampaign& call, const core::Input&) {
  process.give_back.campaigned(call.attempt, process.healthy, verdict_);
  const Caller caller{process.index, process.incarnation, process.session, call.op};
  send(process, {call.op, process.clock.at(now_), Pending::Verb::campaign, {}},
       {caller, call.op,
        CampaignRequest{caller, process.id, call.attempt, call.highest_term_seen, call.seen,
                        process.plan->timing.lease}});
}

void World::carry_out(Process& process, const core::DoRenew& call, const core::Input&) {
  const Caller caller{process.index, process.incarnation, process.session, call.op};
  send(process, {call.op, process.clock.at(now_), Pending::Verb::renew, call.term},
       {caller, call.op,
        RenewRequest{caller, process.id, call.term, call.attempt, call.valid,
                     process.plan->timing.lease}});
}

void World::carry_out(Process& process, const core::DoResign& call, const core::Input&) {
  const bool valid_once = process.elected.contains(call.attempt);
  const bool work_goes_on = call.term && process.work == *call.term;
  const bool leads_it = leads(process) && process.machine->status().term == call.term;
  const bool over = !leads_it && (!work_goes_on || process.clock.at(now_) >= process.lease_over);
  process.give_back.resigned(call, valid_once, over || !valid_once, verdict_);
  const Caller caller{process.index, process.incarnation, process.session, call.op};
  send(process, {call.op, process.clock.at(now_), Pending::Verb::resign, {}},
       {caller, call.op, ResignRequest{caller, call.attempt, call.term, call.was_valid}});
}

void World::carry_out(Process& process, const core::DoObserve& call, const core::Input&) {
  const Caller caller{process.index, process.incarnation, process.session, call.op};
  if (const auto delay = travel()) {
    events_.push(now_ + *delay, Arrival{caller, call.op, ObserveRequest{}});
  }
}

// A call that is given up is answered soon: that nobody knows whether it was executed, or with the
// truth if that is quicker.
void World::carry_out(Process& process, const core::DoCancel& call, const core::Input&) {
  const Duration patience = random_.chance(0.5) ? plan_.network.slowest : Duration::zero();
  events_.push(now_ + random_.between(Duration::zero(), patience),
               GivenUp{process.index, process.incarnation, call.op});
}

void World::happen(const GivenUp& event) {
  Process& process = processes_[event.process];
  if (!process.machine || event.incarnation != process.incarnation) return;
  if (defer_while_paused(event.process, event)) return;
  const auto pending = find_pending(process, event.op);
  if (pending == process.pending.end()) return;
  const Unknown unknown{{ErrorCode::cancelled, "cancelled", true, true}};
  core::Input input = core::CampaignDone{event.op, unknown};
  if (pending->verb == Pending::Verb::renew) input = core::RenewDone{event.op, unknown};
  if (pending->verb == Pending::Verb::resign) input = core::ResignDone{event.op, unknown};
  process.pending.erase(pending);
  step(process, input);
}

void World::carry_out(Process& process, const core::Elected& news, const core::Input&) {
  elections_ += 1;
  load_.disturbed(now_);
  const Instant now = process.clock.at(now_);
  process.story.elected(news, now, verdict_);
  growing_terms_.elected(news.term, verdict_);
  process.elected.insert(process.machine->status().attempt);
  process.work = news.term;
  check_hold(process, news.deadline);
  process.lease_over = news.deadline + process.plan->timing.lease / 5;
  for (Process& other : processes_) {
    if (other.index != process.index) other.story.turn_passed();
  }
  const Duration lease = plan_.lease;
  for (auto writes = random_.between(1, 3); writes > 0; --writes) {
    events_.push(now_ + random_.between(Duration::zero(), lease * 3),
                 Write{process.index, news.term});
  }
  if (is_calm()) return;
  if (random_.chance(0.3)) {  // the schedule does not know whether the term still lasts
    events_.push(now_ + random_.between(lease / 2, lease * 6),
                 ToProcess{process.index, process.incarnation, core::TermLimitDue{news.term}});
  }
  if (random_.chance(0.05)) {
    events_.push(now_ + random_.between(Duration::zero(), lease * 2),
                 ToProcess{process.index, process.incarnation, core::WorkEnded{news.term}});
  }
}

void World::carry_out(Process& process, const core::Extended& news, const core::Input&) {
  process.story.extended(news, verdict_);
  process.lease_over = news.deadline + process.plan->timing.lease / 5;
  check_hold(process, news.deadline);
}

void World::check_hold(const Process& process, Instant deadline) {
  HoldArithmetic::confirmed(process.counted_from, process.clock.reaches(deadline),
                            process.plan->timing.lease, verdict_);
}

void World::carry_out(Process& process, const core::Jeopardy&, const core::Input&) {
  process.story.jeopardy(verdict_);
}

void World::carry_out(Process& process, const core::Stopping& news, const core::Input& input) {
  const auto* limit = std::get_if<core::TermLimitDue>(&input);
  process.story.stopping(news, limit ? std::optional(limit->term) : std::nullopt, verdict_);
  if (process.work != news.term) return;
  const Timing& timing = process.plan->timing;
  Duration drain = random_.between(Duration::zero(), timing.lease / 10);
  if (!is_calm() && random_.chance(0.3))
    drain = random_.between(Duration::zero(), timing.lease * 3 / 2);
  if (!is_calm() && random_.chance(0.1)) {
    drain = timing.drain_limit + random_.between(Duration::zero(), timing.lease * 3);
  }
  events_.push(now_ + drain,
               ToProcess{process.index, process.incarnation, core::WorkEnded{news.term}});
}

void World::carry_out(Process& process, const core::DrainOverrun&, const core::Input&) {
  process.story.overrun(verdict_);
}

void World::carry_out(Process& process, const core::Lost& news, const core::Input& input) {
  load_.disturbed(now_);
  const bool definite = std::holds_alternative<core::Observed>(input) || is_term_lost(input);
  process.story.lost(news, process.clock.at(now_), definite, process.work != news.term,
                     process.plan->timing.cool_down, verdict_);
}

void World::carry_out(Process&, const core::LeaderChanged&, const core::Input&) {}
void World::carry_out(Process&, const core::Failed&, const core::Input&) {}

void World::carry_out(Process& process, const core::HasStopped& news, const core::Input&) {
  process.has_stopped = true;
  if (news.election_ended) process.give_back.dropped();
}

}  // namespace conclave::sim
