#include "stores/memory/election.hpp"

#include <algorithm>
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
  const bool known = state_ != State::absent && last_term_ >= bid.highest_term_seen;
  if (known && attempt_ == bid.attempt) {
    if (state_ == State::held) return grant_again(moment, news);
    return Refused{refusal(ErrorCode::invalid_state,
                           "this attempt was already resigned: campaign with a new one")};
  }
  queue_.drop_silent(lease_, moment.now);
  const std::optional<Vacancy> found = vacancy(bid, moment.now);
  const bool waits = !found || hold_back(queue_.before(bid.attempt), moment.now) > Duration::zero();
  if (waits) return stand(bid, lease, moment.now);
  return grant(bid, lease, *found, moment, news);
}

// What there is to be granted, or nothing.
std::optional<Vacancy> Election::vacancy(const Bid& bid, Instant now) const {
  if (state_ == State::absent) return now < until_ ? Vacancy::abandoned : Vacancy::absent;
  if (last_term_ < bid.highest_term_seen) return Vacancy::absent;
  if (state_ == State::released) return Vacancy::released;
  if (state_ == State::abandoned) return Vacancy::abandoned;
  if (bid.seen.unchanged == Version{last_term_, stamp_}) return Vacancy::expired;
  const auto expected = bid.seen.expected_server_time;
  const bool trusted = expected && server_time(now) - *expected <= clock_tolerance(lease_);
  if (now >= until_ && trusted) return Vacancy::expired;
  return std::nullopt;
}

// A mark was left for all to see at one instant; those who stood first go first. An expired record
// needs no such order: whoever has the evidence has waited for it.
Duration Election::hold_back(std::uint32_t before, Instant now) const {
  return vacated() ? queue_.turn_in(before, lease_, now) : Duration::zero();
}

std::optional<Duration> Election::held_back(const Bid& bid, Instant now) const {
  if (!vacated() || !queue_.has(bid.attempt)) return std::nullopt;
  return hold_back(queue_.before(bid.attempt), now);
}

Held Election::stand(const Bid& bid, Duration lease, Instant now) {
  Held held;
  held.place = queue_.stand(bid, lease, now);
  if (state_ == State::held) {
    held.record = shown(now);
    held.look_again_in = std::max(until_ - now, Duration::zero());
  } else {
    held.look_again_in = hold_back(held.place - 1, now);
  }
  return held;
}

Granted Election::grant(const Bid& bid, Duration lease, Vacancy vacancy, Moment moment,
                        News& news) {
  const bool settled = vacancy == Vacancy::released || vacancy == Vacancy::expired;
  last_term_ = Term{std::max(last_term_, bid.highest_term_seen).value + 1};
  leader_ = bid.candidate;
  metadata_ = bid.metadata.empty() ? nullptr : std::make_unique<const std::string>(bid.metadata);
  attempt_ = bid.attempt;
  granted_on_ = vacancy;
  own_lease_ = lease;
  previous_lease_ = lease_;
  lease_ = settled ? lease : std::max(lease, previous_lease_);
  state_ = State::held;
  queue_.leave_as(bid.candidate);
  return grant_again(moment, news);
}

// Also the answer to a bid whose first reply was lost: the same term, counted from now.
Granted Election::grant_again(Moment moment, News& news) {
  extend(moment, news);
  return Granted{last_term_, moment.now, own_lease_, granted_on_, previous_lease_, std::nullopt};
}

void Election::extend(Moment moment, News& news) {
  until_ = moment.now + lease_;
  stamp_ = moment.stamp;
  news.changed = true;
}

std::optional<LossReason> Election::renew(const Renewal& renewal, Moment moment, News& news) {
  if (ended_) return LossReason::election_ended;
  const bool holds =
      state_ == State::held && last_term_ == renewal.term && attempt_ == renewal.attempt;
  if (!holds) {
    return last_term_ > renewal.term ? LossReason::superseded : LossReason::record_gone;
  }
  extend(moment, news);
  return std::nullopt;
}

Answer Election::resign(const Resignation& resignation, Moment moment, News& news) {
  const bool was_first = queue_.first() != nullptr && queue_.before(resignation.attempt) == 0;
  if (queue_.leave(resignation.attempt)) {
    // The next one takes over the turn of one that leaves while the place is free.
    if (was_first && vacated() && queue_.first() != nullptr) news.turn_of = *queue_.first();
    return Done{};
  }
  const bool holds = state_ == State::held && attempt_ == resignation.attempt &&
                     (!resignation.term || last_term_ == *resignation.term);
  if (!holds) return Gone{};
  vacate(resignation.was_valid ? State::released : State::abandoned, moment.now, news);
  return Done{};
}

void Election::vacate(State state, Instant now, News& news) {
  state_ = state;
  queue_.drop_silent(lease_, now);
  queue_.call_up(now);
  news.changed = true;
  if (queue_.first() != nullptr) news.turn_of = *queue_.first();
}

Answer Election::end(News& news) {
  if (state_ == State::absent) return Gone{};
  if (state_ == State::held) state_ = State::abandoned;
  ended_ = true;
  queue_.clear();
  news.changed = true;
  return Done{};
}

Error Election::is_held() const {
  return refusal(ErrorCode::invalid_state,
                 "the election is held by \"" + leader_ + "\": end it first, then remove it");
}

Answer Election::remove(Remains remains, Moment moment) {
  if (remains == Remains::nothing) return purge(moment);
  if (state_ == State::absent) return Gone{};
  if (state_ == State::held) return Refused{is_held()};
  Election left;
  left.last_term_ = last_term_;
  if (state_ == State::abandoned && moment.now < until_) {
    left.until_ = until_;
    left.lease_ = lease_;
  }
  *this = std::move(left);
  return Done{};
}

Answer Election::purge(Moment moment) {
  if (state_ == State::absent && !last_term_.exists()) return Gone{};
  if (state_ == State::held) return Refused{is_held()};
  const bool may_believe = state_ != State::released && moment.now < until_;
  if (may_believe) {
    return Refused{{ErrorCode::invalid_state,
                    "the last holder of the election may not have heard of its end: try again when "
                    "its lease is over",
                    true, false}};
  }
  wipe();
  return Done{};
}

Record Election::shown(Instant now) const {
  return {.leader = leader_,
          .metadata = metadata_ ? *metadata_ : std::string{},
          .term = last_term_,
          .attempt = attempt_,
          .stamp = stamp_,
          .lease = lease_,
          .renewed = server_time(until_ - lease_),
          .server_time = server_time(now)};
}

Observation Election::present(Instant now) const {
  if (ended_) return Ended{};
  switch (state_) {
    case State::absent: return Vacant{Vacancy::absent, last_term_};
    case State::released: return Vacant{Vacancy::released, last_term_};
    case State::abandoned: return Vacant{Vacancy::abandoned, last_term_};
    case State::held: break;
  }
  return shown(now);
}

Inspection Election::inspect(Instant now) const {
  Inspection inspection;
  inspection.last_term = last_term_;
  inspection.ended = ended_;
  inspection.candidates = queue_.list();
  if (state_ == State::absent) {
    inspection.vacancy = Vacancy::absent;
  } else if (vacated()) {
    inspection.vacancy = state_ == State::released ? Vacancy::released : Vacancy::abandoned;
  } else if (now >= until_) {
    inspection.vacancy = Vacancy::expired;
  } else {
    inspection.leader = shown(now);
  }
  return inspection;
}

}  // namespace conclave::memory
