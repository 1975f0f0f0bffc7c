// Faults that wait for their moment. Chance alone finds the worst interleavings too seldom; these
// watch what the server does, and strike when it hurts.
#include <algorithm>

#include "simulation/world.hpp"

namespace conclave::sim {

void World::strike_soon(Duration earliest, Duration latest, Fault fault) {
  const Real at = now_ + random_.between(earliest, latest);
  if (at < plan_.calm_from) events_.push(at, Ambush{fault});
}

void World::happen(const Ambush& event) { strike(event.fault); }

// Somebody was granted the place, and the earlier holder may still believe: now the grant is lost
// again, or its holder falls silent, or never hears of it.
void World::after_grant(const CampaignRequest& request, const Granted& granted) {
  if (!plan_.adversary || is_calm()) return;
  const Duration lease = plan_.lease;
  const std::uint32_t process = request.caller.process;
  const bool waits = granted.vacancy == Vacancy::absent || granted.vacancy == Vacancy::abandoned;
  using Kind = Fault::Kind;
  if (waits && random_.chance(plan_.loses_data ? 0.2 : 0.7)) {
    const Kind silence = random_.chance(0.5) ? Kind::cut : Kind::pause;
    strike_soon(Duration::zero(), lease / 2, {{}, silence, process, lease * 2, 2});
  }
  if (!plan_.loses_data) return;
  if (waits && random_.chance(0.7)) {
    const bool late = random_.chance(0.5);  // just before the wait is over
    strike_soon(late ? lease * 13 / 20 : lease / 4, late ? lease * 3 / 4 : lease * 6 / 5,
                {{}, Kind::outage, 0, lease / 200, 2});
    // And the answers that would tell of it do not arrive.
    if (late) strike_soon(lease * 8 / 10, lease * 9 / 10, {{}, Kind::cut, process, lease / 2, 0});
  }
  if (random_.chance(0.25)) {
    store_->snapshot();
    const Real until = now_ + random_.between(lease * 2, lease * 5);
    processes_[process].cut_until = std::min(until, plan_.calm_from);
    processes_[process].cut_in = true;
    processes_[process].cut_out = false;
    strike_soon(lease * 2, lease * 4, {{}, Kind::outage, 0, lease / 100, 1});
  }
}

// The store has lost its data: whoever leads does not get through for a while, the others look at
// once.
void World::after_loss(Real at) {
  if (!plan_.adversary || is_calm()) return;
  const Duration lease = plan_.lease;
  for (Process& process : processes_) {
    if (!process.machine) continue;
    if (leads(process) && random_.chance(0.7)) {
      const Duration shortest = random_.chance(0.5) ? lease / 5 : lease * 13 / 20;
      const Real until = at + random_.between(shortest, lease * 3 / 4);
      process.cut_until = std::min(until, plan_.calm_from);
      process.cut_in = process.cut_out = true;
    } else {
      hint(process, at + random_.between(Duration::zero(), lease / 20));
    }
  }
}

// The server's clock has jumped: everybody looks, hears late what was true before, and looks again.
void World::after_step() {
  if (!plan_.adversary || is_calm()) return;
  const Duration lease = plan_.lease;
  for (Process& process : processes_) {
    if (!process.machine) continue;
    hint(process, now_ + random_.between(Duration::zero(), lease / 20));
    if (process.older_news) {
      events_.push(now_ + random_.between(lease / 20, lease / 8),
                   PushDelivery{*process.older_news});
    }
    hint(process, now_ + random_.between(lease / 8, lease / 5));
  }
}

void World::hint(const Process& process, Real at) {
  if (at >= plan_.calm_from) return;
  events_.push(at, ToProcess{process.index, process.incarnation, core::Observed{YourTurn{}}});
}

// A term was just confirmed: the best moment to forget it.
void World::after_renewal() {
  if (!plan_.adversary || !plan_.loses_data || is_calm() || !random_.chance(0.05)) return;
  strike_soon(Duration{1}, plan_.lease / 50, {{}, Fault::Kind::wipe, 0, {}, 0});
}

// A term was given back. The server crashes, and has forgotten that. Or later the store is wiped,
// and copies of the old messages arrive after all.
void World::after_resign(const Arrival& resign) {
  if (!plan_.adversary || is_calm()) return;
  if (random_.chance(0.2)) {
    strike_soon(Duration{1}, plan_.lease / 50, {{}, Fault::Kind::outage, 0, plan_.lease / 200, 3});
  }
  if (!plan_.loses_data || !random_.chance(0.7)) return;
  const auto& renewal = processes_[resign.caller.process].last_renewal;
  if (!renewal) return;
  const Real wiped = now_ + random_.between(Duration::zero(), plan_.lease / 2);
  if (wiped >= plan_.calm_from) return;
  events_.push(wiped, Ambush{{{}, Fault::Kind::wipe, 0, {}, 0}});
  events_.push(wiped + Duration{1}, *renewal);
  events_.push(wiped + random_.between(Duration{2}, plan_.lease / 10), resign);
}

}  // namespace conclave::sim
