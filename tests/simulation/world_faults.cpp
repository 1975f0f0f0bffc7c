// What goes wrong, and the calm after it.
#include <algorithm>

#include "simulation/world.hpp"

namespace conclave::sim {

void World::happen(const FaultStrikes& event) {
  const Fault& fault = plan_.faults[event.index];
  fault.kind == Fault::Kind::step ? step_clock(event) : strike(fault);
}

void World::strike(const Fault& fault) {
  using Kind = Fault::Kind;
  switch (fault.kind) {
    case Kind::outage: return outage(fault);
    case Kind::snapshot: return store_->snapshot();
    case Kind::wipe: return wipe();
    case Kind::delete_early:
      note("the record is deleted");
      store_->delete_early(now_);
      return deliver_pushes();
    case Kind::end:
      note("the election is ended");
      store_->end(now_);
      ended_ = true;
      for (const Process& process : processes_) {
        store_->pushed.push_back(
            {{process.index, process.incarnation, process.session, 0}, Ended{}});
      }
      return deliver_pushes();
    default: return strike_process(fault, processes_[fault.process]);
  }
}

// Two opposite steps within three leases are not promised to be survived.
void World::step_clock(const FaultStrikes& event) {
  const Fault& fault = plan_.faults[event.index];
  const bool goes_to_and_fro = plan_.seed % 4 == 1;
  const bool returns = goes_to_and_fro && clock_is_off_by_ != Duration::zero();
  if (returns && now_ - clock_stepped_at_ <= 3 * plan_.lease) return;
  note("the server's clock steps");
  const bool goes_back = goes_to_and_fro || plan_.seed % 4 == 0;
  const Duration by = returns ? -clock_is_off_by_ : goes_back ? -fault.length : fault.length;
  store_->step_clock(by);
  clock_is_off_by_ += by;
  clock_stepped_at_ = now_;
  if (goes_to_and_fro && !returns) {
    events_.push(now_ + random_.between(plan_.lease * 3, plan_.lease * 4), event);
  }
  after_step();
}

void World::strike_process(const Fault& fault, Process& process) {
  using Kind = Fault::Kind;
  if (!process.machine) return;
  const auto back = [&](core::Input input) {
    events_.push(now_ + fault.length,
                 ToProcess{process.index, process.incarnation, std::move(input)});
  };
  const auto ask = [&](core::Input input) {
    events_.push(now_, ToProcess{process.index, process.incarnation, std::move(input)});
  };
  switch (fault.kind) {
    case Kind::pause: return pause(process, fault.length, false);
    case Kind::suspend: return pause(process, fault.length, true);
    case Kind::crash:
      note(process.id + " crashes");
      process.machine.reset();
      liveness_.led_until(now_);
      return events_.push(now_ + fault.length, Launch{process.index});
    case Kind::stop: ask(core::Stop{}); return back(core::Start{});
    case Kind::resign: return ask(core::ResignAsked{});
    case Kind::hint: return ask(core::Observed{YourTurn{}});
    case Kind::unhealthy: ask(core::HealthChanged{false}); return back(core::HealthChanged{true});
    default:
      note(process.id + " is cut off");
      process.cut_until = std::min(now_ + fault.length, plan_.calm_from);
      process.cut_out = fault.variant % 3 != 0;
      process.cut_in = fault.variant % 3 != 1;
  }
}

void World::pause(Process& process, Duration length, bool suspend) {
  note(process.id + (suspend ? " is suspended" : " is paused"));
  process.paused_until = std::max(process.paused_until, now_ + length);
  if (suspend) process.clock.sleep(now_, process.paused_until);
  liveness_.disturbed(process.paused_until);
}

void World::outage(const Fault& fault) {
  const Real until = now_ + fault.length;
  server_down_until_ = std::max(server_down_until_, until);
  liveness_.disturbed(server_down_until_);
  const auto [loss, with] = [&]() -> std::pair<DataLoss, std::string> {
    if (fault.variant % 3 == 1) return {DataLoss::stale, "old data"};
    if (fault.variant % 3 == 2) return {DataLoss::everything, "nothing"};
    if (fault.variant % 2 == 1) return {DataLoss::last_mark, "its data, but for the last mark"};
    return {DataLoss::none, "its data"};
  }();
  note("the server goes down, to come back with " + with);
  store_->restart(loss, server_down_until_);
  if (fault.variant % 3 != 0) after_loss(server_down_until_);
}

// Data that vanish under a running server. Where the store cannot hear its leaders, that is not
// promised to a newcomer, who cannot know what was there: so there are none for a while.
void World::wipe() {
  const bool all_have_seen_terms =
      std::all_of(processes_.begin(), processes_.end(), [](const Process& process) {
        return !process.machine || process.machine->status().highest_term_seen.exists();
      });
  const bool promised = store_->protects_newcomers();
  if (!all_have_seen_terms && !promised) return;
  note("the store is wiped");
  store_->wipe();
  after_loss(now_);
  if (!promised) no_newcomers_until_ = now_ + plan_.lease * 5 / 4;
}

void World::happen(const Launch& event) {
  Process& process = processes_[event.process];
  if (process.machine) return;
  if (now_ < no_newcomers_until_) return events_.push(no_newcomers_until_, event);
  launch(process);
}

void World::happen(const CalmBegins&) {
  note("from here on nothing goes wrong");
  load_.disturbed(now_ + plan_.network.longest);
  for (Process& process : processes_) {
    if (process.machine && process.work.exists()) {
      events_.push(now_,
                   ToProcess{process.index, process.incarnation, core::WorkEnded{process.work}});
    }
    events_.push(now_, Launch{process.index});
    events_.push(now_, ToProcess{process.index, process.incarnation, core::HealthChanged{true}});
    // A candidate that is just stopping is started again when it has stopped.
    for (int i = 0; i < 3; ++i) {
      events_.push(now_ + i * plan_.lease,
                   ToProcess{process.index, process.incarnation, core::Start{}});
    }
  }
}

}  // namespace conclave::sim
