#include "stores/memory/election.hpp"

#include <limits>

namespace conclave::memory {
namespace {

ServerTime server_time(Instant instant) { return ServerTime{instant.time_since_epoch()}; }

Error refusal(ErrorCode code, std::string sentence) {
  return Error{code, std::move(sentence), false, false};
}

}  // namespace

CampaignAnswer Election::campaign(const Bid& bid, Duration lease, Moment moment, News& news) {
  if (ended_) {
    return Refused{refusal(ErrorCode::election_ended, "the election \"" + bid.election +
                                                          "\" was ended: remove it to begin anew")};
  }
  if (std::max(last_term_, bid.highest_term_seen).value ==
      std::numeric_limits<std::uint64_t>::max()) {
    return Refused{
        refusal(ErrorCode::invalid_argument,
                "highest_term_seen is the greatest number there is: no term is above it")};
  }
  const bool known = entry_ && entry_->record.term >= bid.highest_term_seen;
  if (known && entry_->record.attempt == bid.attempt) {
    if (entry_->state == State::held) return grant_again(moment, news);
    return Refused{refusal(ErrorCode::invalid_state,
                           "this attempt was already resigned: campaign with a new one")};
  }
  queue_.drop_silent(entry_ ? entry_->record.lease : Duration::zero(), moment.now);
  const std::optional<Vacancy> found = vacancy(bid, moment.now);
  const bool waits = !found || hold_back(queue_.before(bid.attempt), moment.now) > Duration::zero();
  if (waits) return stand(bid, lease, moment.now);
  return grant(bid, lease, *found, moment, news);
}

// What there is to be granted, or nothing.
std::optional<Vacancy> Election::vacancy(const Bid& bid, Instant now) const {
  if (!entry_) return believer_ && now < believer_->until ? Vacancy::abandoned : Vacancy::absent;
  const Record& record = entry_->record;
  if (record.term < bid.highest_term_seen) return Vacancy::absent;
  if (entry_->state == State::released) return Vacancy::released;
  if (entry_->state == State::abandoned) return Vacancy::abandoned;
  if (bid.seen.unchanged == record.version()) return Vacancy::expired;
  const auto expected = bid.seen.expected_server_time;
  const bool trusted = expected && server_time(now) - *expected <= clock_tolerance(record.lease);
  if (now >= entry_->until && trusted) return Vacancy::expired;
  return std::nullopt;
}

// A mark was left for all to see at one instant; those who stood first go first. An expired record
// needs no such order: whoever has the evidence has waited for it.
Duration Election::hold_back(std::uint32_t before, Instant now) const {
  if (!entry_ || entry_->state == State::held) return Duration::zero();
  const Duration turn = std::min(before * wake_stagger, entry_->record.lease);
  return std::max(entry_->vacated + turn - now, Duration::zero());
}

std::optional<Duration> Election::held_back(const Bid& bid, Instant now) const {
  if (!entry_ || entry_->state == State::held || !queue_.has(bid.attempt)) return std::nullopt;
  return hold_back(queue_.before(bid.attempt), now);
}

Held Election::stand(const Bid& bid, Duration lease, Instant now) {
  Held held;
  held.place = queue_.stand(bid, lease, now);
  if (entry_->state == State::held) {
    held.record = shown(now);
    held.look_again_in = std::max(entry_->until - now, Duration::zero());
  } else {
    held.look_again_in = hold_back(held.place - 1, now);
  }
  return held;
}

Granted Election::grant(const Bid& bid, Duration lease, Vacancy vacancy, Moment moment,
                        News& news) {
  Entry next;
  next.granted_on = vacancy;
  if (entry_) {
    next.previous_lease = entry_->record.lease;
  } else if (believer_) {
    next.previous_lease = believer_->lease;
  }
  last_term_ = Term{std::max(last_term_, bid.highest_term_seen).value + 1};
  next.record.leader = bid.candidate;
  next.record.metadata = bid.metadata;
  next.record.term = last_term_;
  next.record.attempt = bid.attempt;
  next.own_lease = lease;
  const bool settled = vacancy == Vacancy::released || vacancy == Vacancy::expired;
  next.record.lease = settled ? lease : std::max(lease, next.previous_lease);
  entry_ = std::move(next);
  believer_.reset();
  queue_.leave_as(bid.candidate);
  return grant_again(moment, news);
}

// Also the answer to a bid whose first reply was lost: the same term, counted from now.
Granted Election::grant_again(Moment moment, News& news) {
  extend(moment, news);
  return Granted{entry_->record.term,    moment.now,  entry_->own_lease, entry_->granted_on,
                 entry_->previous_lease, std::nullopt};
}

void Election::extend(Moment moment, News& news) {
  entry_->until = moment.now + entry_->record.lease;
  entry_->record.stamp = moment.stamp;
  entry_->record.renewed = server_time(moment.now);
  news.for_all = shown(moment.now);
}

RenewAnswer Election::renew(const Renewal& renewal, Moment moment, News& news) {
  if (ended_) return TermLost{LossReason::election_ended};
  const bool holds = entry_ && entry_->state == State::held &&
                     entry_->record.term == renewal.term &&
                     entry_->record.attempt == renewal.attempt;
  if (!holds) {
    return TermLost{last_term_ > renewal.term ? LossReason::superseded : LossReason::record_gone};
  }
  extend(moment, news);
  return Renewed{moment.now};
}

Answer Election::resign(const Resignation& resignation, Moment moment, News& news) {
  const bool was_first = queue_.first() != nullptr && queue_.before(resignation.attempt) == 0;
  if (queue_.leave(resignation.attempt)) {
    // The next one takes over the turn of one that leaves while the place is free.
    const bool vacant = entry_ && entry_->state != State::held;
    if (was_first && vacant && queue_.first() != nullptr) news.turn_of = *queue_.first();
    return Done{};
  }
  const bool holds = entry_ && entry_->state == State::held &&
                     entry_->record.attempt == resignation.attempt &&
                     (!resignation.term || entry_->record.term == *resignation.term);
  if (!holds) return Gone{};
  vacate(resignation.was_valid ? State::released : State::abandoned, moment.now, news);
  return Done{};
}

void Election::vacate(State state, Instant now, News& news) {
  entry_->state = state;
  entry_->vacated = now;
  queue_.drop_silent(entry_->record.lease, now);
  news.for_all = present(now);
  if (queue_.first() != nullptr) news.turn_of = *queue_.first();
}

Answer Election::end(News& news) {
  if (!entry_ && !ended_) return Gone{};
  if (entry_ && entry_->state == State::held) entry_->state = State::abandoned;
  ended_ = true;
  queue_.clear();
  news.for_all = Ended{};
  return Done{};
}

Answer Election::remove(Moment moment) {
  if (!entry_ && !ended_) return Gone{};
  if (entry_ && entry_->state == State::held) {
    return Refused{refusal(
        ErrorCode::invalid_state,
        "the election is held by \"" + entry_->record.leader + "\": end it first, then remove it")};
  }
  believer_.reset();
  if (entry_ && entry_->state == State::abandoned && moment.now < entry_->until) {
    believer_ = Believer{entry_->until, entry_->record.lease};
  }
  entry_.reset();
  queue_.clear();
  ended_ = false;
  return Done{};
}

Record Election::shown(Instant now) const {
  Record record = entry_->record;
  record.server_time = server_time(now);
  return record;
}

Observation Election::present(Instant now) const {
  if (ended_) return Ended{};
  if (!entry_) return Vacant{Vacancy::absent, last_term_};
  if (entry_->state == State::released) return Vacant{Vacancy::released, entry_->record.term};
  if (entry_->state == State::abandoned) return Vacant{Vacancy::abandoned, entry_->record.term};
  return shown(now);
}

Inspection Election::inspect(Instant now) const {
  Inspection inspection;
  inspection.last_term = last_term_;
  inspection.ended = ended_;
  inspection.candidates = queue_.list();
  if (!entry_) {
    inspection.vacancy = Vacancy::absent;
  } else if (entry_->state != State::held) {
    inspection.vacancy = entry_->state == State::released ? Vacancy::released : Vacancy::abandoned;
  } else if (now >= entry_->until) {
    inspection.vacancy = Vacancy::expired;
  } else {
    inspection.leader = shown(now);
  }
  return inspection;
}

}  // namespace conclave::memory
