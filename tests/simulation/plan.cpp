#include "simulation/plan.hpp"

#include <algorithm>

#include <core/random.hpp>

namespace conclave::sim {
namespace {

using core::Random;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::int64_t worst_rate = 101'000;  // the kernel's limit: 0.899 to 1.101

// What may go wrong together. Some pairs of faults are named as not promised in the docs and are
// kept apart here: a step of the server's clock that hides behind a wild rate, and lost data where
// somebody has to be waited for whose lease nobody knows.
struct Character {
  bool wild_rates = false;
  bool steps = false;
  bool loses_data = false;
  bool mixed_leases = false;
};

Character draw_character(Family family, Random& random) {
  Character character;
  character.wild_rates = random.chance(0.6);
  if (family != Family::server_clock) {
    character.mixed_leases = family == Family::own_clock && random.chance(0.5);
    return character;
  }
  const auto kind = random.between(0, 5);
  character.steps = kind <= 1;
  character.loses_data = kind == 2 || kind == 3;
  character.mixed_leases = kind == 4;
  if (character.steps) character.wild_rates = false;
  return character;
}

std::int64_t draw_rate(const Character& character, Random& random) {
  if (!character.wild_rates) return random.between(-500, 500);
  switch (random.between(0, 2)) {
    case 0: return worst_rate;
    case 1: return -worst_rate;
    default: return random.between(-worst_rate, worst_rate);
  }
}

Timing draw_timing(Family family, Duration lease, Random& random) {
  TimingOptions options;
  TimingLimits limits;
  options.lease = lease;
  options.drain_limit = random.between(lease / 2, lease * 3);
  options.cool_down = random.between(lease / 2, lease * 3 / 2);
  if (family == Family::session) {
    // `since` is one heartbeat behind, so heartbeats are closer together.
    options.renew_interval = lease / 6;
    options.request_timeout = lease / 10;
    options.grace = lease / 10;
    limits.lag = lease / 6 + lease / 10;
  }
  return resolve_timing(options, limits).value();
}

NetworkPlan draw_network(Duration lease, Random& random) {
  NetworkPlan network;
  network.fastest = microseconds{random.between(20, 500)};
  network.slowest = network.fastest + microseconds{random.between(10, 5000)};
  if (random.chance(0.2)) network.slowest += lease / 80;
  network.longest = random.between(lease / 10, lease * 3 / 2);
  if (random.chance(0.3)) return network;
  network.loss = random.unit() * 0.08;
  network.duplication = random.unit() * 0.05;
  network.tail = random.unit() * 0.08;
  return network;
}

class FaultWriter {
 public:
  FaultWriter(Plan& plan, Random& random) : plan_(plan), random_(random) {}

  void add(Fault::Kind kind, int most, Duration shortest = {}, Duration longest = {}) {
    const auto count = random_.between(0, most);
    for (std::int64_t i = 0; i < count; ++i) {
      add_at(random_.between(Duration::zero(), plan_.calm_from), kind, shortest, longest);
    }
  }

  // What was lost once is lost again before it has settled, and somebody heard of neither.
  void add_relapse(Fault::Kind kind) {
    const std::size_t count = plan_.faults.size();
    const Duration lease = plan_.lease;
    for (std::size_t i = 0; i < count; ++i) {
      if (plan_.faults[i].kind != kind) continue;
      const Real at = plan_.faults[i].at;
      add_at(std::max(at - random_.between(Duration::zero(), lease / 3), Real::zero()),
             Fault::Kind::cut, lease / 4, lease * 3 / 4);
      add_at(std::min(at + random_.between(Duration::zero(), lease), plan_.calm_from),
             Fault::Kind::outage, lease / 100, lease / 20);
      plan_.faults.back().variant = 2;
    }
  }

  // A snapshot is taken while somebody is granted what it does not hear of, and comes back later.
  void add_return_of_the_past() {
    const std::size_t count = plan_.faults.size();
    const Duration lease = plan_.lease;
    for (std::size_t i = 0; i < count; ++i) {
      if (plan_.faults[i].kind != Fault::Kind::snapshot || random_.chance(0.5)) continue;
      const Real at = plan_.faults[i].at;
      add_at(std::max(at - random_.between(Duration::zero(), lease), Real::zero()),
             Fault::Kind::cut, lease * 2, lease * 6);
      plan_.faults.back().variant = 0;  // its requests arrive, the answers do not
      add_at(std::min(at + random_.between(lease, lease * 5), plan_.calm_from), Fault::Kind::outage,
             lease / 50, lease / 4);
      plan_.faults.back().variant = 1;
    }
  }

  // Trouble comes in pairs: where the store misbehaves, somebody often falls silent around then.
  void add_company(Fault::Kind kind) {
    const std::size_t count = plan_.faults.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (plan_.faults[i].kind != kind) continue;
      const Duration lease = plan_.lease;
      for (auto silent = random_.between(0, 2); silent > 0; --silent) {
        const Real at = plan_.faults[i].at + random_.between(-lease / 2, lease / 2);
        constexpr Fault::Kind silences[] = {Fault::Kind::cut, Fault::Kind::pause,
                                            Fault::Kind::crash};
        const auto silence = silences[random_.between(0, kind == Fault::Kind::step ? 1 : 2)];
        add_at(std::clamp(at, Real::zero(), plan_.calm_from), silence, lease / 4, lease * 2);
      }
    }
  }

 private:
  void add_at(Real at, Fault::Kind kind, Duration shortest, Duration longest) {
    Fault fault;
    fault.kind = kind;
    fault.at = at;
    fault.process = static_cast<std::uint32_t>(
        random_.between(0, static_cast<std::int64_t>(plan_.processes.size()) - 1));
    fault.length = random_.between(shortest, longest);
    fault.variant = static_cast<std::uint32_t>(random_.between(0, 1'000'000));
    plan_.faults.push_back(fault);
  }

  Plan& plan_;
  Random& random_;
};

void draw_faults(Plan& plan, const Character& character, Random& random) {
  using Kind = Fault::Kind;
  const Duration lease = plan.lease;
  const int many = static_cast<int>(plan.calm_from / (2 * lease)) + 1;
  FaultWriter writer(plan, random);
  writer.add(Kind::pause, many, milliseconds{5}, lease * 2);
  writer.add(Kind::suspend, many / 3, lease / 4, lease * 2);
  writer.add(Kind::crash, many / 2, milliseconds{1}, lease * 2);
  writer.add(Kind::stop, many / 3, milliseconds{1}, lease * 2);
  writer.add(Kind::resign, many / 2);
  writer.add(Kind::hint, character.steps ? many * 4 : many / 2);
  writer.add(Kind::unhealthy, many / 3, milliseconds{1}, lease * 3 / 2);
  writer.add(Kind::cut, many, lease / 10, lease * 2);
  writer.add(Kind::outage, many / 3, lease / 50, lease * 3 / 2);
  if (character.loses_data) {
    writer.add(Kind::snapshot, many);
    writer.add(Kind::outage, many / 2, lease / 50, lease);
    writer.add(Kind::wipe, many / 2);
    writer.add_relapse(Kind::wipe);
    writer.add_return_of_the_past();
  }
  if (character.steps) {
    writer.add(Kind::step, many / 2, lease / 20, lease / 2);
    writer.add(Kind::step, many / 3, lease / 2, lease * 10);
  }
  if (plan.family == Family::own_clock) writer.add(Kind::delete_early, many);
  for (const Kind kind : {Kind::wipe, Kind::step, Kind::delete_early}) writer.add_company(kind);
  if (random.chance(0.02)) writer.add(Kind::end, 1);
  if (!character.loses_data) {
    for (Fault& fault : plan.faults) {
      if (fault.kind == Kind::outage) fault.variant -= fault.variant % 3;  // terms are kept
    }
  }
}

}  // namespace

Plan draw_plan(std::uint64_t seed, const PlanOptions& options) {
  Random random(seed);
  Plan plan;
  plan.seed = seed;
  plan.length = options.length;
  plan.family = static_cast<Family>(random.between(0, 2));
  const Character character = draw_character(plan.family, random);
  const Duration lease =
      options.lease > Duration::zero() ? options.lease : milliseconds{random.between(1000, 3000)};
  const auto drawn = static_cast<std::uint32_t>(random.between(2, 5));
  const std::uint32_t count = options.processes > 0 ? options.processes : drawn;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Duration own = character.mixed_leases ? lease / random.between(1, 3) : lease;
    plan.processes.push_back({draw_timing(plan.family, own, random), draw_rate(character, random),
                              random.between(Duration::zero(), std::chrono::hours{1000})});
  }
  plan.lease = lease;
  plan.server_rate = draw_rate(character, random);
  plan.repairs = random.chance(0.7);
  plan.stale_acknowledgements = random.chance(0.5) ? random.unit() * 0.5 : 0;
  plan.tick = random.between(Duration::zero(), lease / 10);
  plan.refusals = random.chance(0.5) ? random.unit() * 0.08 : 0;
  plan.network = draw_network(lease, random);
  plan.loses_data = character.loses_data;
  plan.adversary = random.chance(0.6);
  if (character.steps && random.chance(0.5)) plan.network.tail = 0.3;
  plan.calm_from = std::max(plan.length - lease * 12, plan.length * 2 / 5);
  draw_faults(plan, character, random);
  return plan;
}

}  // namespace conclave::sim
