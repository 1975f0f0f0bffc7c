// What users see of what the machine says. Everything here happens under the lock, in one piece
// with the step, so that whoever begins to listen hears each change exactly once.
#include <algorithm>
#include <cstdlib>

#include "runtime/engine.hpp"

namespace conclave::runtime {

void Engine::emit(const Event& event, Tidings& tidings) {
  if (!extras_) return;
  for (const auto& each : extras_->queues) {
    if (auto queue = each.lock()) {
      const bool ready = queue->put(event);
      (ready ? tidings.ready : tidings.heard).push_back(std::move(queue));
      tidings.muted = muted_;
    }
  }
}

// What somebody who begins to listen has to know.
void Engine::emit_present(EventQueue& queue) const {
  if (!begun_) return;
  const Instant now = driver_->clock().now();
  const core::Status status = machine_.status();
  queue.put({.kind = EventKind::started, .at = now});
  if (announced_) {
    queue.put({.kind = EventKind::elected,
               .at = now,
               .term = status.term,
               .valid_until = status.deadline});
  } else if (status.role == Role::follower) {
    queue.put({.kind = EventKind::follower, .at = now});
  }
  if (!status.leader.empty()) {
    queue.put({.kind = EventKind::leader_changed,
               .at = now,
               .term = status.leader_term,
               .leader = std::string(status.leader)});
  }
  if (const auto* draining = std::get_if<core::Draining>(&machine_.state())) {
    queue.put(
        {.kind = EventKind::stopping, .at = now, .term = status.term, .reason = draining->reason});
  }
}

void Engine::note_start(Instant now, Tidings& tidings) {
  begun_ = true;
  leaderless_since_ = now;
  role_ = Role::bootstrap;
  emit({.kind = EventKind::started, .at = now}, tidings);
}

void Engine::note_contact(const core::Input& input, Instant now) {
  const auto definite = [](const auto& answer) {
    return !std::holds_alternative<Unknown>(answer) && !std::holds_alternative<Refused>(answer);
  };
  bool contact = std::holds_alternative<core::Observed>(input);
  if (const auto* campaign = std::get_if<core::CampaignDone>(&input)) {
    contact = definite(campaign->answer);
  } else if (const auto* renewal = std::get_if<core::RenewDone>(&input)) {
    contact = definite(renewal->answer);
    if (std::holds_alternative<Renewed>(renewal->answer)) renewals_ += 1;
  } else if (const auto* resignation = std::get_if<core::ResignDone>(&input)) {
    contact = definite(resignation->answer);
  }
  if (contact) last_contact_ = now;
}

// Whether it has shown, once more, the leader that is known.
void Engine::note_sight(const core::Input& input, Instant now) {
  Term shown{};
  if (const auto* observed = std::get_if<core::Observed>(&input)) {
    if (const auto* record = std::get_if<Record>(&observed->what)) shown = record->term;
  } else if (const auto* campaign = std::get_if<core::CampaignDone>(&input)) {
    const auto* held = std::get_if<Held>(&campaign->answer);
    if (held != nullptr && held->record) shown = held->record->term;
  } else if (const auto* renewal = std::get_if<core::RenewDone>(&input)) {
    if (std::holds_alternative<Renewed>(renewal->answer)) shown = machine_.status().term;
  }
  if (shown.exists() && shown == machine_.status().leader_term) leader_seen_ = now;
}

void Engine::note_role(Instant now, Tidings& tidings) {
  const Role role = machine_.role();
  if (role == role_) return;
  role_ = role;
  if (role == Role::follower) emit({.kind = EventKind::follower, .at = now}, tidings);
  driver_->changed_of(*this).notify_all();
}

void Engine::note(const core::DoRenew&, Instant, Tidings&) {
  if (late_) late_renewals_ += 1;
}

void Engine::note(const core::Elected& news, Instant now, Tidings& tidings) {
  terms_ += 1;
  announced_ = true;
  // From before it was published: nobody reads true at an earlier instant.
  emit({.kind = EventKind::elected,
        .at = tidings.stepped,
        .term = news.term,
        .valid_until = news.deadline},
       tidings);
  if (!extras_) return;
  if (extras_->term_limit) extras_->limit_at = now + *extras_->term_limit;
  if (mode_ != Mode::leading || !extras_->waiter) return;
  extras_->led = true;
  Work work{news.term, {}, 1};
  tidings.waited = {std::exchange(extras_->waiter, nullptr),
                    Leadership(shared_from_this(), news.term, work.stop.get_token())};
  extras_->work = std::move(work);
}

void Engine::note(const core::Extended& news, Instant now, Tidings& tidings) {
  emit({.kind = EventKind::extended, .at = now, .term = news.term, .valid_until = news.deadline},
       tidings);
}

void Engine::note(const core::Jeopardy& news, Instant now, Tidings& tidings) {
  emit({.kind = EventKind::jeopardy, .at = now, .term = news.term, .valid_until = news.deadline},
       tidings);
}

void Engine::note(const core::Stopping& news, Instant now, Tidings& tidings) {
  emit({.kind = EventKind::stopping, .at = now, .term = news.term, .reason = news.reason}, tidings);
  if (!extras_) return;
  extras_->limit_at.reset();
  auto& work = extras_->work;
  if (work && work->term == news.term) tidings.stopping = work->stop;
}

void Engine::note(const core::DrainOverrun& news, Instant now, Tidings& tidings) {
  extras().drain_overruns += 1;
  tidings.abort = extras_->overrun == Overrun::abort;
  note(core::Failed{{ErrorCode::work_failed,
                     "the work of term " + std::to_string(news.term.value) +
                         " did not end within the drain limit: it is not renewed any more",
                     false, false}},
       now, tidings);
}

void Engine::note(const core::Lost& news, Instant now, Tidings& tidings) {
  announced_ = false;
  // The deadline, where that has passed; otherwise it turned false with this very step.
  const Instant at = std::min(news.at < tidings.stepped ? news.at : now, tidings.deadline);
  emit({.kind = EventKind::lost, .at = at, .term = news.term, .reason = news.reason}, tidings);
}

void Engine::note(const core::LeaderChanged& news, Instant now, Tidings& tidings) {
  transitions_ += 1;
  leader_seen_ = tidings.stepped;
  note_leader(!news.leader.empty(), now);
  emit({.kind = EventKind::leader_changed, .at = now, .term = news.term, .leader = news.leader},
       tidings);
}

void Engine::note_leader(bool is_there, Instant now) {
  if (leaderless_since_ < now) leaderless_ += now - leaderless_since_;
  leaderless_since_ = is_there ? Instant::max() : now;
}

void Engine::note(const core::Failed& news, Instant now, Tidings& tidings) {
  extras().failures[static_cast<std::size_t>(news.error.code)] += 1;
  emit({.kind = EventKind::error, .at = now, .error = news.error}, tidings);
}

void Engine::note(const core::HasStopped&, Instant now, Tidings& tidings) {
  emit({.kind = EventKind::stopped, .at = now}, tidings);
  note_leader(true, now);  // nobody counts any more
  mode_ = Mode::idle;
  begun_ = false;
  stop_asked_ = false;
  tidings.over = runs_;
  if (extras_ && extras_->waiter) {  // the election was ended
    tidings.waited = {std::exchange(extras_->waiter, nullptr), std::nullopt};
  }
}

// After the lock.
void Engine::Tidings::tell(Engine& engine) {
  for (const auto& queue : ready) {
    queue->wake();
    if (!muted) queue->notify();
  }
  if (waited) waited->first(std::move(waited->second));
  // Its callbacks are user code. Not on the strand, nor on what is under it: what it should stop
  // may be running there.
  if (stopping) {
    engine.strand()->post_beside([source = *stopping]() mutable { source.request_stop(); });
  }
  if (abort) std::abort();
  if (over == 0) return;
  const std::scoped_lock lock(engine.mutex());
  engine.over_ = over;
  engine.driver_->changed_of(engine).notify_all();
}

}  // namespace conclave::runtime
