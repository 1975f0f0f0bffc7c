// The states of a candidate. Each holds just what is true in it; what outlives a state is a member
// of the machine.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "core/input.hpp"

namespace conclave::core {

// A call to the store that has not been answered.
struct InFlight {
  OpId op{};
  Instant sent;
  bool cancelled = false;
};

// A granted term, valid or not yet.
struct Tenure {
  Term term;
  Attempt attempt;
  Duration lease{};
  Instant since;
  Instant deadline;  // since + hold(lease)
  Instant asked;     // when the call was made that was confirmed last
  Instant renew_at;  // of the next renewal; while one is in flight it says nothing
  std::optional<InFlight> renewal;
  std::uint32_t failures = 0;  // renewals in a row that were not confirmed
  bool jeopardy = false;
};

struct Idle {};   // made, not started
struct Bidding {  // a campaign is in flight
  InFlight campaign;
  bool woken = false;         // a wake-up came meanwhile: the answer may be older than it
  bool session_lost = false;  // likewise: a grant may be of the session that is over
};
struct Waiting {  // another one holds the place; the bid stands
  Instant look_at;
  Instant planned;  // the look that was meant before a wake-up brought it forward
};
struct Retrying {  // a campaign is due at once or after a pause
  Instant retry_at;
};
struct Resting {  // cool-down after a voluntary release: others go first
  Instant until;
  Term after;  // a later term than this one ends the rest
};
struct Gated {};   // unhealthy, does not stand
struct Reserved {  // granted, but an earlier holder may still believe
  Tenure tenure;
  Instant valid_from;
  bool waits = false;  // for that instant; otherwise the grant itself is good enough
  bool ripe = false;   // it has passed; only a renewal is missing
};
struct Leading {
  Tenure tenure;
};
struct Draining {  // the stop token has fired, the work has not ended, the term is still valid
  Tenure tenure;
  LossReason reason{};
  Instant limit;
  bool overrun = false;
};
struct WindingDown {  // the term is over, the work is late
  Term term;
  Attempt attempt;
  LossReason reason{};
  std::optional<Instant> release_at;  // while the store still holds it for us
  std::optional<Instant> limit;       // of the drain; nothing once it has passed
};
struct Stopped {
  bool announced = false;  // what was held is given back first
};

using State = std::variant<Idle, Bidding, Waiting, Retrying, Resting, Gated, Reserved, Leading,
                           Draining, WindingDown, Stopped>;

[[nodiscard]] constexpr std::string_view state_name(const State& state) noexcept {
  constexpr std::string_view names[] = {"idle",     "bidding",      "waiting",  "retrying",
                                        "resting",  "gated",        "reserved", "leading",
                                        "draining", "winding down", "stopped"};
  static_assert(std::size(names) == std::variant_size_v<State>);
  return names[state.index()];
}

}  // namespace conclave::core
