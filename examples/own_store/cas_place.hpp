// One request: an election is read, a rule is applied to it, and the outcome is written.
#pragma once

#include <exception>
#include <functional>
#include <memory>

#include <conclave/names.hpp>

#include "cas.hpp"
#include "cas_election.hpp"

namespace own_store {

// So often somebody else may be quicker before a request ends for want of luck.
inline constexpr int most_tries = 20;

inline conclave::Error no_answer(const std::string& why) {
  return {conclave::ErrorCode::unavailable, "the service did not answer: " + why, true, true};
}
inline conclave::Error no_luck() {
  return {conclave::ErrorCode::unavailable,
          "others wrote again and again between our read and our write", true, false};
}

// Where an election is kept. It goes along with each request, since by the time that a request is
// sent its store may be gone.
struct Place {
  std::shared_ptr<CasService> service;
  std::reference_wrapper<const conclave::Clock> clock;
  std::string election;

  // Yours may have to escape the name. Two names must never meet in one key.
  [[nodiscard]] std::string key() const { return "conclave/" + election; }
};

// Reads the election, lets a rule change it and answer, and writes what the rule has changed,
// unless somebody was quicker: then all over again, on what that one has written. The guarded write
// is all that keeps two candidates from being granted one place.
template <typename Answered, typename Rule>
Answered try_to_apply(const Place& place, const Rule& rule) {
  for (int tries = 0; tries < most_tries; ++tries) {
    // Before the write, and so never later than the instant at which others may see it.
    const conclave::Instant since = place.clock.get().now();
    const std::optional<CasValue> found = place.service->read(place.key());
    conclave::Result<CasElection> content = found ? from_text(found->text) : CasElection{};
    if (!content) return conclave::Refused{content.error()};
    const CasElection before = *content;
    CasElection after = *std::move(content);
    Answered answer = rule(after, since);
    if (after == before) return answer;
    const auto version = found ? std::optional(found->version) : std::nullopt;
    if (place.service->write_if(place.key(), version, to_text(after))) return answer;
  }
  return conclave::Unknown{no_luck()};
}

// A service that did not answer may have done what it was asked for: that is Unknown, never "no".
// The caller repeats the request, and the attempt in the record tells what became of the first.
template <typename Answered, typename Rule>
Answered apply(const Place& place, const Rule& rule) {
  if (auto error = conclave::check_election_name(place.election)) {
    return conclave::Refused{*std::move(error)};
  }
  try {
    return try_to_apply<Answered>(place, rule);
  } catch (const std::exception& failed) {
    return conclave::Unknown{no_answer(failed.what())};
  }
}

}  // namespace own_store
