// Callbacks on every check: the adapter for programs that ask "am I the leader?" in a loop.
//
//   const Checks checks{.leader_interval = 5s, .on_leader_check = collect_garbage};
//   if (auto error = run_checks(me, stop, checks)) std::cerr << error->message << '\n';
#pragma once

#include <functional>
#include <optional>
#include <stop_token>

#include <conclave/candidate.hpp>
#include <conclave/export.hpp>

namespace conclave {

// What a check returns: nothing when all is well.
using Check = std::function<std::optional<Error>()>;

struct Checks {
  Duration leader_interval{std::chrono::seconds{1}};
  Duration follower_interval{std::chrono::seconds{1}};
  Check on_leader_check{};    // while leading, on every check
  Check on_follower_check{};  // while not leading
  bool end_on_error = true;   // otherwise an error is reported as an event, and the checks go on
};

// Starts the candidate and calls the check of its role, in this thread, until stopped or until a
// check fails; then stops the candidate, so that the place is free when it returns. The first check
// comes as soon as the role is known, the next ones at the intervals and whenever the role changes.
// What a check throws counts as an error. Throws InvalidState when the candidate runs already, and
// std::invalid_argument when an interval is not positive.
CONCLAVE_API std::optional<Error> run_checks(Candidate& candidate, const std::stop_token& stop,
                                             const Checks& checks);

}  // namespace conclave
