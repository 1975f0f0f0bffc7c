// A scenario is a text: what happens to a candidate, and below each line what the candidate does.
//
//   # Prose and comments, kept as they are.
//   lease: 3s                  also grace, renew_interval, request_timeout, drain_limit, cool_down
//   == A section begins anew, with a new candidate and the clock at zero.
//   @ 0ms start                an input at an instant; "+375ms" counts from the line before
//   @ 2s leads?                asks the hold rule; the machine is not stepped
//   @ 2s pause until 4s        nothing runs meanwhile, also no timer; "suspend" is the same
//       -> what the machine asks of the store, or tells the user
//       .. what it is from now on
//     1s                       a timer that the machine had asked for
//
// Indented lines are the machine's: they are thrown away and made anew.
#pragma once

#include <string>

namespace conclave::test {

// The same text with all that the machine does. Throws std::runtime_error naming the bad line.
[[nodiscard]] std::string play(const std::string& scenario);

}  // namespace conclave::test
