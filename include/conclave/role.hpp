// The words for what a candidate is, and why a term ends. They are the same everywhere: in code, in
// the command's output, in JSON, in metrics and in the documentation.
#pragma once

#include <cstdint>
#include <string_view>

namespace conclave {

// What a candidate is. A role alone never says that it leads *now*: that is a question to the
// clock.
enum class Role : std::uint8_t {
  bootstrap,  // the store has not answered yet
  follower,   // another one leads, or nobody; this candidate stands by
  leader,     // holds a term and may begin work
  draining,   // the work of its term is asked to stop, or is late in stopping
  stopped,    // takes no part any more
};

constexpr std::string_view to_string(Role role) noexcept {
  switch (role) {
    case Role::bootstrap: return "bootstrap";
    case Role::follower: return "follower";
    case Role::leader: return "leader";
    case Role::draining: return "draining";
    case Role::stopped: return "stopped";
  }
  return "unknown";
}

// Why a term ended, or is about to.
enum class LossReason {
  resigned,        // asked to, by resign() or by the end of the work itself
  term_limit,      // the scheduled end of the term
  lease_expired,   // no renewal was confirmed in time
  superseded,      // the store has granted a later term
  record_gone,     // the store's record of the term is gone
  session_lost,    // the session that carried the term is over
  election_ended,  // the election was ended for everybody
  unhealthy,       // the application said that it cannot lead
  stopped,         // the candidate was stopped
};

constexpr std::string_view to_string(LossReason reason) noexcept {
  switch (reason) {
    case LossReason::resigned: return "resigned";
    case LossReason::term_limit: return "term limit";
    case LossReason::lease_expired: return "lease expired";
    case LossReason::superseded: return "superseded";
    case LossReason::record_gone: return "record gone";
    case LossReason::session_lost: return "session lost";
    case LossReason::election_ended: return "election ended";
    case LossReason::unhealthy: return "unhealthy";
    case LossReason::stopped: return "stopped";
  }
  return "unknown";
}

// What a store found in the place that it grants. It decides from when the new term is valid.
enum class Vacancy {
  absent,     // no trace of a term, or only of one below the highest that the bidder has seen
  released,   // its last holder stepped down first and then left this mark
  abandoned,  // a grant given up before it became valid, or a record deleted without a mark
  expired,    // its last holder's lease is over, on the evidence in the bid
  ended,      // the store knows that the holder's session or process is over
};

constexpr std::string_view to_string(Vacancy vacancy) noexcept {
  switch (vacancy) {
    case Vacancy::absent: return "absent";
    case Vacancy::released: return "released";
    case Vacancy::abandoned: return "abandoned";
    case Vacancy::expired: return "expired";
    case Vacancy::ended: return "ended";
  }
  return "unknown";
}

}  // namespace conclave
