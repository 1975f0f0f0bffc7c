// One election, as it is kept in the service, and the rules by which its place is handed out.
//
// Pure: a rule changes the value and says what to answer. Reading, writing and time are somebody
// else's (cas_store.cpp), so the rules can be read beside the contract in conclave/store.hpp.
#pragma once

#include <conclave/result.hpp>
#include <conclave/store.hpp>

namespace own_store {

struct CasElection {
  enum class State : std::uint8_t { absent, held, released, abandoned };

  State state = State::absent;
  bool ended = false;
  // Of the record; when that is gone, the trace that keeps terms growing.
  conclave::Term term{};
  conclave::Attempt attempt{};
  std::uint64_t stamp = 0;
  // What others wait for, see conclave::Record. While absent: what the holder of a term that was
  // ended may still count on, as it may not have heard; zero when there is no such holder.
  conclave::Duration lease{};
  // What the holder was told, and is told again when it repeats its bid.
  conclave::Duration own_lease{};
  conclave::Duration previous_lease{};
  conclave::Vacancy granted_on{};
  std::string leader{};
  std::string metadata{};

  friend bool operator==(const CasElection&, const CasElection&) = default;

  // `since` is the caller's clock before the request was sent.
  conclave::CampaignAnswer campaign(const conclave::Bid& bid, conclave::Duration own,
                                    conclave::Instant since);
  conclave::RenewAnswer renew(const conclave::Renewal& renewal, conclave::Instant since);
  conclave::Answer resign(const conclave::Resignation& resignation);
  conclave::Answer end();
  conclave::Answer remove(conclave::Remains remains);

  [[nodiscard]] conclave::Inspection inspect() const;
  // What an observer is told; `last_known` is the highest term that it was told before.
  [[nodiscard]] conclave::Observation present(conclave::Term last_known) const;

 private:
  [[nodiscard]] std::optional<conclave::Vacancy> vacancy(const conclave::Bid& bid) const;
  [[nodiscard]] conclave::Vacancy shown_vacancy() const;
  [[nodiscard]] conclave::Record record() const;
  void take(const conclave::Bid& bid, conclave::Duration own, conclave::Vacancy found);
  [[nodiscard]] conclave::Granted granted(conclave::Instant since) const;
};

// The value in the service: a line of numbers, the first of which is the version of the format,
// then leader and metadata as they are. What a newer version of this store wrote is refused.
[[nodiscard]] std::string to_text(const CasElection& election);
[[nodiscard]] conclave::Result<CasElection> from_text(const std::string& text);

}  // namespace own_store
