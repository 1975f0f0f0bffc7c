// What users may look at: events and snapshots.
#include <algorithm>

#include "runtime/engine.hpp"

namespace conclave::runtime {

EventQueue& Engine::events() {
  if (in_forked_child()) {
    if (!extras().own_queue) extras_->own_queue = std::make_shared<EventQueue>();
    return *extras_->own_queue;
  }
  {
    const std::scoped_lock lock(mutex());
    if (extras().own_queue) return *extras_->own_queue;
  }
  auto queue = subscribe(64);
  const std::scoped_lock lock(mutex());
  if (!extras_->own_queue) extras_->own_queue = std::move(queue);
  return *extras_->own_queue;
}

std::shared_ptr<EventQueue> Engine::subscribe(std::size_t capacity) {
  auto queue = std::make_shared<EventQueue>(capacity);
  if (in_forked_child()) return queue;
  const std::scoped_lock lock(mutex());
  auto& queues = extras().queues;
  std::erase_if(queues, [](const auto& each) { return each.expired(); });
  queues.push_back(queue);
  emit_present(*queue);
  return queue;
}

Snapshot Engine::snapshot() const {
  Snapshot snapshot;
  snapshot.election = election_;
  snapshot.candidate = id();
  snapshot.role = Role::stopped;
  if (in_forked_child()) return snapshot;
  const std::scoped_lock lock(mutex());
  const Instant now = driver_->clock().now();
  const core::Status status = machine_.status();
  snapshot.role = mode_ != Mode::idle && !begun_ ? Role::bootstrap : status.role;
  snapshot.is_leader = machine_.leads_at(now);
  if (machine_.role() == Role::leader || machine_.role() == Role::draining) {
    snapshot.term = status.term;
    snapshot.lease_remaining = std::max(status.deadline - now, Duration::zero());
  }
  snapshot.jeopardy = status.jeopardy;
  snapshot.place = status.place;
  snapshot.leader = status.leader;
  snapshot.leader_term = status.leader_term;
  if (!snapshot.leader.empty()) snapshot.leader_age = now - leader_seen_;
  if (last_contact_ != Instant{}) snapshot.last_contact = now - last_contact_;
  Counters& counters = snapshot.counters;
  counters.terms = terms_;
  counters.transitions = transitions_;
  counters.renewals = renewals_;
  counters.late_renewals = late_renewals_;
  counters.leaderless = leaderless_;
  if (leaderless_since_ < now) counters.leaderless += now - leaderless_since_;
  if (!extras_) return snapshot;
  counters.drain_overruns = extras_->drain_overruns;
  counters.failures = extras_->failures;
  counters.callback_overruns = extras_->callback_overruns;
  return snapshot;
}

}  // namespace conclave::runtime
