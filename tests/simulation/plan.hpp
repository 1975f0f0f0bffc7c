// One run, drawn from one seed: who takes part, how bad the clocks and the network are, and which
// faults strike when. Everything random about a run's circumstances is decided here.
#pragma once

#include <cstdint>
#include <vector>

#include <conclave/timing.hpp>

#include "simulation/clocks.hpp"

namespace conclave::sim {

enum class Family { server_clock, own_clock, session };

struct ProcessPlan {
  Timing timing;
  std::int64_t rate = 0;
  Duration origin{};
};

struct NetworkPlan {
  Duration fastest{};
  Duration slowest{};
  double loss = 0;
  double duplication = 0;
  double tail = 0;  // how often a message takes up to `longest`
  Duration longest{};
};

struct Fault {
  enum class Kind {
    pause,
    suspend,
    crash,
    stop,
    resign,
    unhealthy,
    cut,     // the process and the store do not hear each other, or only one the other
    outage,  // the server is down, then restarts
    snapshot,
    wipe,
    step,
    delete_early,
    hint,  // a wake-up without a reason
    end,
  };
  Real at{};
  Kind kind{};
  std::uint32_t process = 0;
  Duration length{};
  std::uint32_t variant = 0;
};

struct Plan {
  std::uint64_t seed = 0;
  Family family{};
  std::vector<ProcessPlan> processes;
  Duration lease{};  // the longest of all
  std::int64_t server_rate = 0;
  bool repairs = false;
  double stale_acknowledgements = 0;
  Duration tick{};
  double refusals = 0;  // how often the server refuses a request that it could serve
  NetworkPlan network;
  bool loses_data = false;
  bool adversary = false;  // some faults wait for the worst moment
  std::vector<Fault> faults;
  Real calm_from{};  // from here on nothing goes wrong any more, and somebody has to lead
  Real length{};
};

struct PlanOptions {
  Duration length = std::chrono::seconds{60};
  std::uint32_t processes = 0;  // 0: drawn, 2 to 5
  Duration lease{};             // zero: drawn, 1 to 3 s
};

[[nodiscard]] Plan draw_plan(std::uint64_t seed, const PlanOptions& options);

}  // namespace conclave::sim
