// A candidate on the store's executor: what happens to it goes into the machine, what the machine
// says is published, carried out and told. In this order: is_leader() is right before anybody hears
// of a change, and false before the store is asked to let the next one in.
#include <algorithm>
#include <cassert>
#include <cstdlib>

#include "runtime/engine.hpp"

namespace conclave::runtime {

void Engine::feed(const core::Input& input) {
  const std::shared_ptr<Engine> keep = shared_from_this();
  const Driver::Round round(*driver_);
  if (!std::holds_alternative<core::Start>(input)) begin();
  Tidings tidings;
  auto next = step(input, tidings);
  // Who only has to let go does so before anybody is told: the next one waits for it.
  std::vector<Tidings> further;
  while (next) next = step(*next, further.emplace_back());
  tidings.tell(*this);
  for (Tidings& each : further) each.tell(*this);
  settle();
}

// Its turn to start has come, or something else has come before it.
void Engine::begin() {
  if (!begins_.exchange(false)) return;
  self_ = shared_from_this();
  std::optional<core::Input> wish;
  bool leaves = false;
  {
    const std::scoped_lock lock(mutex());
    leaves = stop_asked_;
    wish = leaves ? core::HealthChanged{false} : chore();
  }
  // One who must not stand does not begin as one who does: its bid would be granted, given back,
  // and keep the place from others for a lease.
  if (wish) {
    Tidings tidings;
    step(*wish, tidings);
    tidings.tell(*this);
  }
  if (leaves) {  // before its turn has come; the stop is on its way
    Tidings tidings;
    step(core::Start{}, tidings);
    tidings.tell(*this);
    return settle();
  }
  feed(core::Start{});
  if (first_bid_ || calls_.empty()) return;
  first_bid_ = true;
  driver_->first_bid_sent();
}

std::optional<core::Input> Engine::step(const core::Input& input, Tidings& tidings) {
  core::Outputs outputs;
  std::optional<core::Input> next;
  {
    const std::scoped_lock lock(mutex());
    const Instant now = driver_->clock().now();
    tidings.stepped = now;
    if (announced_) tidings.deadline = machine_.status().deadline;
    note_contact(input, now);
    outputs = machine_.step(now, input);
    note_sight(input, now);
    publish();
    // When it turned false, not when it was decided.
    const Instant published = driver_->clock().now();
    if (std::holds_alternative<core::Start>(input)) note_start(now, tidings);
    for (const core::Output& output : outputs) {
      std::visit([&](const auto& each) { note(each, published, tidings); }, output);
    }
    note_role(published, tidings);
    next = chore();
  }
  for (const core::Output& output : outputs) {
    std::visit([this](const auto& each) { carry_out(each); }, output);
  }
  return next;
}

void Engine::publish() {
  const core::Status status = machine_.status();
  const bool holds = std::holds_alternative<core::Leading>(machine_.state()) ||
                     std::holds_alternative<core::Draining>(machine_.state());
  if (holds) {
    validity_->publish(status.term, status.deadline);
  } else {
    validity_->clear();
  }
}

// What the machine has to hear of next because of what users want.
std::optional<core::Input> Engine::chore() const {
  const auto& state = machine_.state();
  const bool claimed = extras_ && extras_->work && extras_->work->claims > 0;
  const bool leads = std::holds_alternative<core::Leading>(state);
  // lead() was given up just before it succeeded, or its Leadership has died.
  if (leads && mode_ == Mode::leading && !claimed) return core::ResignAsked{};
  if (mode_ != Mode::idle && machine_.is_healthy() != wants_to_stand()) {
    return core::HealthChanged{wants_to_stand()};
  }
  if (claimed) return std::nullopt;
  if (const auto* draining = std::get_if<core::Draining>(&state)) {
    return core::WorkEnded{draining->tenure.term};
  }
  if (const auto* winding = std::get_if<core::WindingDown>(&state)) {
    return core::WorkEnded{winding->term};
  }
  return std::nullopt;
}

// By lead() one stands only while somebody waits in it.
bool Engine::wants_to_stand() const {
  if (extras_ && extras_->unhealthy) return false;
  if (mode_ == Mode::started) return true;
  return (extras_ && extras_->waiter) || std::holds_alternative<core::Leading>(machine_.state());
}

void Engine::settle() {
  std::optional<Instant> wake = machine_.next_wakeup();
  {
    const std::scoped_lock lock(mutex());
    const auto limit = extras_ ? extras_->limit_at : std::nullopt;
    if (limit && (!wake || *limit < *wake)) wake = limit;
  }
  driver_->wake_at(*this, wake);
  if (machine_.at_rest()) self_.reset();
}

void Engine::tick(Instant now) {
  const std::shared_ptr<Engine> keep = shared_from_this();
  late_ = now - wake_at_ > machine_.timing().lease / 10;
  feed(limit_is_due(now) ? core::Input{core::TermLimitDue{machine_.status().term}}
                         : core::Input{core::Tick{}});
  late_ = false;
}

bool Engine::limit_is_due(Instant now) {
  const std::scoped_lock lock(mutex());
  if (!extras_ || !extras_->limit_at || *extras_->limit_at > now) return false;
  extras_->limit_at.reset();
  return true;
}

// ---------------------------------------------------------------- what the store is asked

void Engine::carry_out(const core::DoCampaign& call) {
  const auto op = call.op;
  std::string metadata;
  {
    const std::scoped_lock lock(mutex());
    if (extras_) metadata = extras_->metadata;
  }
  const Operation operation = driver_->store().campaign(
      {election_, id(), call.attempt, std::move(metadata), call.highest_term_seen, call.seen},
      [self = shared_from_this(), op](CampaignAnswer answer) {
        self->answered(op, core::CampaignDone{op, std::move(answer)});
      });
  calls_.emplace_front(op, operation);
}

void Engine::carry_out(const core::DoResign& call) {
  const auto op = call.op;
  const Operation operation =
      driver_->store().resign({election_, id(), call.attempt, call.term, call.was_valid},
                              [self = shared_from_this(), op](Answer answer) {
                                self->answered(op, core::ResignDone{op, std::move(answer)});
                              });
  calls_.emplace_front(op, operation);
}

void Engine::carry_out(const core::DoRenew& call) {
  renewal_ = driver_->renew(shared_from_this(), call.op,
                            {election_, id(), call.term, call.attempt, call.valid}, renewal_index_);
}

// The store falls silent when this is cancelled, which comes before the engine is at rest.
void Engine::carry_out(const core::DoObserve&) {
  observation_ = driver_->store().observe(
      election_, id(), [this](const Observation& what) { feed(core::Observed{what}); });
}

void Engine::carry_out(const core::DoCancel& call) {
  if (call.op == machine_.observation()) {
    return driver_->store().cancel(std::exchange(observation_, 0));
  }
  if (renewal_ && renewal_->members.at(renewal_index_).op == call.op) {
    const auto batch = std::exchange(renewal_, nullptr);
    return driver_->give_up(*batch, renewal_index_);
  }
  const auto found = std::find_if(calls_.begin(), calls_.end(),
                                  [&](const auto& each) { return each.first == call.op; });
  if (found != calls_.end()) driver_->store().cancel(found->second);
}

void Engine::answered(core::OpId op, const core::Input& input) {
  if (std::exchange(first_bid_, false)) driver_->first_bid_answered();
  calls_.remove_if([op](const auto& each) { return each.first == op; });
  feed(input);
}

void Engine::renewal_answered(core::OpId op, RenewAnswer answer) {
  if (renewal_ && renewal_->members.at(renewal_index_).op == op) renewal_.reset();
  feed(core::RenewDone{op, std::move(answer)});
}

}  // namespace conclave::runtime
