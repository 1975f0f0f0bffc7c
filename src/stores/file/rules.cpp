#include "stores/file/rules.hpp"

#include <algorithm>
#include <limits>

namespace conclave::file {
namespace {

Error refused(ErrorCode code, std::string sentence) {
  return Error{code, std::move(sentence), false, false};
}

// Whoever is granted the place on that does not wait, and nobody later has to wait in its stead.
bool settles(Vacancy found, Term highest_term_seen) {
  if (found == Vacancy::absent) return !highest_term_seen.exists();
  return found != Vacancy::abandoned;
}

// All grants are in the file: no power failure and nothing else has taken one.
bool complete(const Content& content, const Boot& boot) {
  return boot.known() && content.reserve.boot == boot && !content.torn;
}

// What a new term has to be above.
Term highest(const Content& content, const Bid& bid, const Boot& boot) {
  const Term known = std::max(content.slot.term, bid.highest_term_seen);
  return complete(content, boot) ? known : std::max(known, content.reserve.term);
}

}  // namespace

Vacancy shown_vacancy(const Content& content) noexcept {
  switch (content.slot.state) {
    case State::fresh: return Vacancy::absent;
    case State::removed: return content.slot.settled ? Vacancy::absent : Vacancy::abandoned;
    case State::granted: break;
  }
  switch (content.mark) {
    case MarkKind::released: return Vacancy::released;
    case MarkKind::abandoned: return Vacancy::abandoned;
    case MarkKind::none:
    case MarkKind::settled: break;
  }
  return Vacancy::ended;
}

Vacancy found_vacancy(const Content& content, Term highest_term_seen) noexcept {
  if (content.slot.term < highest_term_seen) return Vacancy::absent;
  const Vacancy shown = shown_vacancy(content);
  const bool over = shown == Vacancy::ended || shown == Vacancy::abandoned;
  if (!over || content.slot.state != State::granted) return shown;
  return content.settled() ? Vacancy::ended : Vacancy::abandoned;
}

std::optional<Error> refusal(const Content& content, const Bid& bid, const Boot& boot) {
  if (content.ended) return election_ended(bid.election);
  if (highest(content, bid, boot).value == std::numeric_limits<std::uint64_t>::max()) {
    return refused(ErrorCode::invalid_argument,
                   "highest_term_seen is the greatest number there is: no term is above it");
  }
  if (content.slot.state == State::granted && content.slot.attempt == bid.attempt) {
    return attempt_is_over();
  }
  return std::nullopt;
}

Slot granted_slot(const Content& content, const Bid& bid, const Granting& granting) {
  const Slot& last = content.slot;
  const Vacancy found = found_vacancy(content, bid.highest_term_seen);
  Slot slot;
  slot.sequence = last.sequence + 1;
  slot.state = State::granted;
  const auto wall_clock = static_cast<std::uint64_t>(std::max(granting.wall_clock, {}));
  slot.term = Term{std::max(highest(content, bid, granting.boot).value + 1, wall_clock)};
  slot.attempt = bid.attempt;
  slot.previous_lease = last.lease;
  slot.own_lease = granting.lease;
  const bool certain = found == Vacancy::released || found == Vacancy::ended;
  slot.lease = certain ? granting.lease : std::max(granting.lease, last.lease);
  slot.granted_on = found;
  slot.settled = settles(found, bid.highest_term_seen);
  slot.granted_at = granting.wall_clock;
  slot.process = granting.process;
  slot.election = bid.election;
  slot.candidate = bid.candidate;
  slot.metadata = bid.metadata;
  return slot;
}

bool is_reserved(const Content& content, Term term, const Boot& boot) noexcept {
  return complete(content, boot) && term <= content.reserve.term;
}

Reserve next_reserve(const Content& content, Term term) noexcept {
  const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - term.value;
  return {content.reserve.sequence + 1, Term{term.value + std::min(room, reserve_span)}, {}};
}

std::optional<Content> recovered(const Image& image, std::string_view election, const Boot& boot) {
  Content content;
  content.reserve = decode_reserve(image);
  const bool after_boot = boot.known() && content.reserve.boot != boot;
  if (!after_boot || !content.reserve.term.exists()) return std::nullopt;
  content.slot.state = State::removed;
  content.slot.settled = true;
  content.slot.term = content.reserve.term;
  content.slot.election = election;
  return content;
}

Slot removed_slot(const Content& content) {
  Slot slot;
  slot.sequence = content.slot.sequence + 1;
  slot.state = State::removed;
  slot.term = content.slot.term;
  slot.lease = content.slot.lease;
  slot.election = content.slot.election;
  // Only a holder that left a mark is known to have heard.
  const bool left = content.slot.state == State::granted ? content.marked() : true;
  slot.settled = left && content.settled();
  return slot;
}

Record record_of(const Slot& slot) {
  Record record;
  record.leader = slot.candidate;
  record.metadata = slot.metadata;
  record.term = slot.term;
  record.attempt = slot.attempt;
  record.stamp = slot.sequence;
  record.lease = slot.lease;
  record.granted = WallTime{std::chrono::microseconds{slot.granted_at}};
  return record;
}

Error election_ended(const std::string& election) {
  return refused(ErrorCode::election_ended,
                 "the election \"" + election + "\" was ended: remove it to begin anew");
}

Error attempt_is_over() {
  return refused(ErrorCode::invalid_state,
                 "this attempt was already resigned: campaign with a new one");
}

}  // namespace conclave::file
