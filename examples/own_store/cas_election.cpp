#include "cas_election.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <locale>
#include <sstream>

#include <conclave/names.hpp>

namespace own_store {

using namespace conclave;

namespace {

constexpr std::uint64_t format = 1;

Refused refused(ErrorCode code, std::string sentence) {
  return {Error{code, std::move(sentence), false, false}};
}

// Everything but the names and the format, in the order in which it is written.
using Numbers = std::array<std::uint64_t, 11>;

std::uint64_t number(Duration duration) { return static_cast<std::uint64_t>(duration.count()); }
Duration duration(std::uint64_t number) { return Duration{static_cast<Duration::rep>(number)}; }

Numbers numbers(const CasElection& election) {
  return {static_cast<std::uint64_t>(election.state),
          election.ended ? 1U : 0U,
          election.term.value,
          election.attempt.high,
          election.attempt.low,
          election.stamp,
          number(election.lease),
          number(election.own_lease),
          number(election.previous_lease),
          static_cast<std::uint64_t>(election.granted_on),
          election.leader.size()};
}

// Nothing when that cannot be.
std::optional<CasElection> from_parts(const Numbers& numbers, const std::string& names) {
  const auto [state, ended, term, high, low, stamp, lease, own_lease, previous_lease, granted_on,
              leader_size] = numbers;
  if (state > static_cast<std::uint64_t>(CasElection::State::abandoned) || ended > 1 ||
      granted_on > static_cast<std::uint64_t>(Vacancy::ended) || leader_size > names.size()) {
    return std::nullopt;
  }
  CasElection election;
  election.state = static_cast<CasElection::State>(state);
  election.ended = ended == 1;
  election.term = Term{term};
  election.attempt = {high, low};
  election.stamp = stamp;
  election.lease = duration(lease);
  election.own_lease = duration(own_lease);
  election.previous_lease = duration(previous_lease);
  election.granted_on = static_cast<Vacancy>(granted_on);
  election.leader = names.substr(0, leader_size);
  election.metadata = names.substr(leader_size);
  return election;
}

}  // namespace

// ---------------------------------------------------------------- campaign

CampaignAnswer CasElection::campaign(const Bid& bid, Duration own, Instant since) {
  if (auto error = check_candidate_id(bid.candidate)) return Refused{*std::move(error)};
  if (auto error = check_metadata(bid.metadata)) return Refused{*std::move(error)};
  if (ended) {
    return refused(ErrorCode::election_ended,
                   "the election \"" + bid.election + "\" was ended: remove it to begin anew");
  }
  if (std::max(term, bid.highest_term_seen).value == std::numeric_limits<std::uint64_t>::max()) {
    return refused(ErrorCode::invalid_argument,
                   "highest_term_seen is the greatest number there is: no term is above it");
  }
  const bool known = state != State::absent && term >= bid.highest_term_seen;
  if (known && attempt == bid.attempt) {
    if (state != State::held) {
      return refused(ErrorCode::invalid_state,
                     "this attempt was already resigned: campaign with a new one");
    }
    // The first reply was lost. The same term, counted from now; so others have to see a change.
    stamp += 1;
    return granted(since);
  }
  const std::optional<Vacancy> found = vacancy(bid);
  if (!found) return Held{record(), 0, {}, std::nullopt};
  take(bid, own, *found);
  return granted(since);
}

// What there is to be granted, or nothing. Nobody here has a clock that all agree on: a record that
// is held goes to somebody else only when that one has watched it unchanged for a whole lease.
std::optional<Vacancy> CasElection::vacancy(const Bid& bid) const {
  if (state == State::absent)
    return lease > Duration::zero() ? Vacancy::abandoned : Vacancy::absent;
  if (term < bid.highest_term_seen) return Vacancy::absent;
  if (state != State::held) return shown_vacancy();
  if (bid.seen.unchanged == record().version()) return Vacancy::expired;
  return std::nullopt;
}

void CasElection::take(const Bid& bid, Duration own, Vacancy found) {
  const bool certain = found == Vacancy::released || found == Vacancy::expired;
  state = State::held;
  term = Term{std::max(term, bid.highest_term_seen).value + 1};
  attempt = bid.attempt;
  // An attempt is random, so no version ever comes back, not even after a loss of all data.
  stamp = bid.attempt.low;
  granted_on = found;
  own_lease = own;
  previous_lease = lease;
  // Unless the holder before is over for certain, those who wait for this one wait for both.
  lease = certain ? own : std::max(own, previous_lease);
  leader = bid.candidate;
  metadata = bid.metadata;
}

Granted CasElection::granted(Instant since) const {
  return {term, since, own_lease, granted_on, previous_lease, std::nullopt};
}

// ---------------------------------------------------------------- renew, resign, end, remove

RenewAnswer CasElection::renew(const Renewal& renewal, Instant since) {
  if (ended) return TermLost{LossReason::election_ended};
  if (state != State::held || term != renewal.term || attempt != renewal.attempt) {
    return TermLost{term > renewal.term ? LossReason::superseded : LossReason::record_gone};
  }
  stamp += 1;
  return Renewed{since};
}

Answer CasElection::resign(const Resignation& resignation) {
  const bool holds = state == State::held && attempt == resignation.attempt &&
                     (!resignation.term || term == *resignation.term);
  if (!holds) return Gone{};
  state = resignation.was_valid ? State::released : State::abandoned;
  return Done{};
}

Answer CasElection::end() {
  if (state == State::absent) return Gone{};
  if (state == State::held) state = State::abandoned;  // its holder has yet to hear of it
  ended = true;
  return Done{};
}

Answer CasElection::remove(Remains remains) {
  const bool purges = remains == Remains::nothing;
  if (state == State::absent && (!purges || !term.exists())) return Gone{};
  if (state == State::held) {
    return refused(ErrorCode::invalid_state,
                   "the election is held by \"" + leader + "\": end it first, then remove it");
  }
  const bool may_believe = vacancy({}) == Vacancy::abandoned;
  if (purges && may_believe) {
    return refused(
        ErrorCode::invalid_state,
        "the last holder of the election may not have heard of its end: let somebody lead "
        "and step down once more, then remove it");
  }
  CasElection left;
  if (!purges) left.term = term;
  if (may_believe) left.lease = lease;
  *this = std::move(left);
  return Done{};
}

// ---------------------------------------------------------------- what others see

Record CasElection::record() const {
  return {leader, metadata, term, attempt, stamp, lease, std::nullopt, std::nullopt};
}

Vacancy CasElection::shown_vacancy() const {
  if (state == State::released) return Vacancy::released;
  return state == State::abandoned ? Vacancy::abandoned : Vacancy::absent;
}

// A leader that died is shown until somebody takes its place: without a clock, who could know?
Inspection CasElection::inspect() const {
  Inspection inspection;
  inspection.last_term = term;
  inspection.ended = ended;
  if (state == State::held) {
    inspection.leader = record();
  } else {
    inspection.vacancy = shown_vacancy();
  }
  return inspection;
}

Observation CasElection::present(Term last_known) const {
  if (ended) return Ended{};
  if (state == State::held) return record();
  // When the service has lost its data, the observer's memory is what is left.
  if (state == State::absent) return Vacant{Vacancy::absent, std::max(term, last_known)};
  return Vacant{shown_vacancy(), term};
}

// ---------------------------------------------------------------- the value in the service

std::string to_text(const CasElection& election) {
  std::string text = std::to_string(format);
  for (const std::uint64_t each : numbers(election)) text += ' ' + std::to_string(each);
  return text + '\n' + election.leader + election.metadata;
}

Result<CasElection> from_text(const std::string& text) {
  std::istringstream in(text);
  in.imbue(std::locale::classic());  // numbers as they are, whatever the language of the program
  std::uint64_t written_as = 0;
  Numbers numbers{};
  in >> written_as;
  if (in && written_as > format) {
    return Error{ErrorCode::unsupported,
                 "the election was written by a newer version of this store, in format " +
                     std::to_string(written_as) + ": update this program",
                 false, false};
  }
  for (std::uint64_t& each : numbers) in >> each;
  const bool complete = written_as == format && in && in.get() == '\n';
  const std::string names{std::istreambuf_iterator<char>(in), {}};
  if (auto election = complete ? from_parts(numbers, names) : std::nullopt) return *election;
  return Error{ErrorCode::corrupt,
               "what is kept under this key is not an election: use another key, or delete it",
               false, false};
}

}  // namespace own_store
