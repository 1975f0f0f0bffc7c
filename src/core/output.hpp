// Everything that a machine can ask for or say. The order matters: `lost` stands before the
// `resign` that lets the next one in.
#pragma once

#include <variant>
#include <vector>

#include "core/input.hpp"

namespace conclave::core {

// ---- calls to the store; the driver adds the names, which never change

struct DoCampaign {
  OpId op{};
  Attempt attempt;
  Term highest_term_seen;
  Seen seen;
};
struct DoRenew {
  OpId op{};
  Term term;
  Attempt attempt;
  bool valid{};  // not for a reservation
};
struct DoResign {
  OpId op{};
  Attempt attempt;
  std::optional<Term> term;
  bool was_valid{};
};
struct DoObserve {
  OpId op{};
};
struct DoCancel {
  OpId op{};
};

// ---- news for the user

struct Elected {
  Term term;
  Instant deadline;
};
struct Extended {  // a renewal was confirmed
  Term term;
  Instant deadline;
};
struct Jeopardy {  // still leader, but the last renewal failed or went unanswered
  Term term;
  Instant deadline;
};
struct Stopping {  // begin nothing new; the stop token fires
  Term term;
  LossReason reason{};
};
struct DrainOverrun {  // the work did not end within the drain limit; no renewal counts any more
  Term term;
};
struct Lost {  // the end of a term; `at` is the instant from which it was not valid any more
  Term term;
  LossReason reason{};
  Instant at;
};
struct LeaderChanged {  // as far as is known; empty when nobody leads
  std::string leader;
  Term term;
};
struct Failed {  // reported, never the end: the machine goes on by itself
  Error error;
};
struct HasStopped {  // the last news until the next start
  bool election_ended{};
};

using Output =
    std::variant<DoCampaign, DoRenew, DoResign, DoObserve, DoCancel, Elected, Extended, Jeopardy,
                 Stopping, DrainOverrun, Lost, LeaderChanged, Failed, HasStopped>;
using Outputs = std::vector<Output>;

}  // namespace conclave::core
