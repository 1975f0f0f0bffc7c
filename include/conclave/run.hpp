// Runs work while this process leads: the blocking adapter over lead().
//
//   conclave::run(me, stop, [](const Leadership& term) {
//     while (!term.stopping().stop_requested()) write_one_report(term.term());
//   });
//
// The work begins anew with every term. It should return soon after stopping() fires, which it also
// does when the token of run() has fired; when it returns before, the term is released and another
// candidate goes first. What it throws is reported as an error event, the term is released at once,
// and the candidate goes on.
#pragma once

#include <functional>
#include <stop_token>

#include <conclave/candidate.hpp>
#include <conclave/export.hpp>

namespace conclave {

using Work = std::function<void(const Leadership&)>;

// Returns when stopped: by the token, by request_stop(), or because the election was ended. Throws
// InvalidState when the candidate was started or is run already.
CONCLAVE_API void run(Candidate& candidate, const std::stop_token& stop, const Work& work);

}  // namespace conclave
