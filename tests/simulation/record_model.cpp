#include "simulation/record_model.hpp"

#include <algorithm>

namespace conclave::sim {
namespace {

constexpr std::size_t told_at_once = 3;

Error refused(ErrorCode code) { return {code, "refused", false, false}; }

}  // namespace

CampaignAnswer RecordModel::campaign(const CampaignRequest& request, Real now) {
  if (ended_) return Refused{refused(ErrorCode::election_ended)};
  if (record_.mark != Mark::none && record_.attempt == request.attempt) {
    // A late duplicate of a resigned attempt grants nothing; a lost reply is given again.
    if (record_.mark != Mark::held) return Refused{refused(ErrorCode::invalid_state)};
    // What was read from a disk may be older than terms that were granted since: a new one, then.
    if (record_.run != run_) return grant(request, Vacancy::abandoned, now);
    touch(request.lease, now);
    return granted(now);
  }
  const auto vacancy = vacancy_for(request, now);
  if (!vacancy) return stand(request, now);
  return grant(request, *vacancy, now);
}

std::optional<Vacancy> RecordModel::vacancy_for(const CampaignRequest& request, Real now) const {
  if (record_.term < request.highest_term_seen) return Vacancy::absent;
  switch (record_.mark) {
    case Mark::none:
      return kind_.hears_leaders && !listening_.empty() ? Vacancy::abandoned : Vacancy::absent;
    case Mark::released: return Vacancy::released;
    case Mark::abandoned: return Vacancy::abandoned;
    case Mark::held: break;
  }
  if (is_expired(request.seen, now)) return Vacancy::expired;
  return std::nullopt;
}

bool RecordModel::is_expired(const Seen& seen, Real now) const {
  if (seen.unchanged && *seen.unchanged == Version{record_.term, record_.stamp}) return true;
  if (!kind_.server_judges || !seen.expected_server_time) return false;
  const ServerTime time = wall_.at(now);
  const bool jumped = time - *seen.expected_server_time > clock_tolerance(record_.lease);
  return time >= record_.until && !jumped;
}

CampaignAnswer RecordModel::grant(const CampaignRequest& request, Vacancy vacancy, Real now) {
  std::uint64_t term = std::max(record_.term.value, request.highest_term_seen.value) + 1;
  if (kind_.server_judges) {
    const auto time = wall_.at(now).time_since_epoch();
    term = std::max(term, static_cast<std::uint64_t>(time / std::chrono::microseconds{1}));
  }
  const bool settled = vacancy == Vacancy::released || vacancy == Vacancy::expired;
  record_.previous_lease = record_.lease;
  record_.inherited_lease = settled ? Duration::zero() : record_.lease;
  record_.mark = Mark::held;
  record_.term = Term{term};
  record_.attempt = request.attempt;
  record_.leader = request.candidate;
  record_.vacancy = vacancy;
  record_.run = run_;
  record_.repaired = false;
  record_.is_given_back = false;
  listening_.push_back(request.attempt);
  const Caller before = record_.holder;
  record_.holder = request.caller;
  touch(request.lease, now);
  forget(request.attempt);
  show(before, now);
  if (!queue_.empty()) show(queue_.front().caller, now);
  return granted(now);
}

Granted RecordModel::granted(Real now) const {
  Granted answer;
  answer.term = record_.term;
  answer.lease = record_.own_lease;
  answer.vacancy = record_.vacancy;
  answer.previous_lease = record_.previous_lease;
  if (kind_.server_judges) answer.server_age = wall_.elapsed(started_, now);
  return answer;
}

Held RecordModel::stand(const CampaignRequest& request, Real now) {
  std::erase_if(queue_,
                [&](const Waiter& waiter) { return now - waiter.last_bid > 12 * record_.lease; });
  auto waiter = std::find_if(queue_.begin(), queue_.end(),
                             [&](const Waiter& each) { return each.attempt == request.attempt; });
  if (waiter == queue_.end()) {
    waiter = queue_.insert(queue_.end(), {request.caller, request.attempt, now});
  }
  waiter->last_bid = now;
  Held held;
  held.record = shown(now);
  held.place = static_cast<std::uint32_t>(waiter - queue_.begin()) + 1;
  if (kind_.server_judges) {
    held.look_again_in = record_.until - wall_.at(now);
    held.server_age = wall_.elapsed(started_, now);
  }
  return held;
}

Record RecordModel::shown(Real now) const {
  Record record;
  record.leader = record_.leader;
  record.term = record_.term;
  record.attempt = record_.attempt;
  record.stamp = record_.stamp;
  record.lease = record_.lease;
  if (kind_.server_judges) {
    record.renewed = record_.renewed;
    record.server_time = wall_.at(now);
  }
  return record;
}

RenewAnswer RecordModel::renew(const RenewRequest& request, Real now) {
  if (ended_) return TermLost{LossReason::election_ended};
  const bool mine = record_.term == request.term && record_.attempt == request.attempt;
  if (!(mine && record_.mark == Mark::held)) {
    if (record_.term > request.term) return TermLost{LossReason::superseded};
    const bool vanished = record_.mark == Mark::none || record_.term < request.term;
    const bool repairs = kind_.repairs && request.valid;
    if (!vanished || !repairs) return TermLost{LossReason::record_gone};
    record_ = {};
    record_.mark = Mark::held;
    record_.term = request.term;
    record_.attempt = request.attempt;
    record_.leader = request.candidate;
    record_.holder = request.caller;
    record_.repaired = true;
  }
  touch(request.lease, now);
  std::erase(listening_, request.attempt);
  listening_.push_back(request.attempt);  // again, since the server was restarted
  if (!queue_.empty()) show(queue_.front().caller, now);
  return Renewed{};
}

Answer RecordModel::resign(const ResignRequest& request, Real) {
  forget(request.attempt);
  std::erase(listening_, request.attempt);
  if (record_.mark != Mark::held) return Gone{};
  if (record_.attempt != request.attempt) return Gone{};
  if (request.term && *request.term != record_.term) return Gone{};
  // A record that was written anew may be that of an old term, beside a later one that was lost.
  const bool released = request.was_valid && !record_.repaired;
  record_.mark = released ? Mark::released : Mark::abandoned;
  record_.is_given_back = true;
  tell(released ? Vacancy::released : Vacancy::abandoned);
  return Done{};
}

void RecordModel::restart(DataLoss loss, Real now) {
  started_ = now;
  if (!kind_.server_judges) return;
  run_ += 1;
  listening_.clear();
  if (loss == DataLoss::last_mark && record_.is_given_back) record_.mark = Mark::held;
  if (loss == DataLoss::stale) record_ = saved_;
  if (loss == DataLoss::everything) record_ = {};
  if (loss == DataLoss::stale || loss == DataLoss::everything) queue_.clear();
  record_.is_given_back = false;  // what is there now was on the disk
}

void RecordModel::observe(const Caller& caller, Real now) {
  if (record_.mark == Mark::held) show(caller, now);
}

// A key that is deleted under its holder leaves no mark, but the election still knows its last
// term.
void RecordModel::delete_early(Real) {
  if (record_.mark != Mark::held) return;
  record_.mark = Mark::abandoned;
  tell(Vacancy::abandoned);
}

void RecordModel::end(Real) {
  ended_ = true;
  record_.mark = Mark::abandoned;
  record_.is_given_back = false;
}

void RecordModel::touch(Duration lease, Real now) {
  record_.own_lease = lease;
  record_.lease = std::max(lease, record_.inherited_lease);
  record_.renewed = wall_.at(now);
  record_.until = record_.renewed + record_.lease;
  record_.stamp = next_stamp_++;
  touched_ = now;
}

void RecordModel::forget(Attempt attempt) {
  std::erase_if(queue_, [&](const Waiter& waiter) { return waiter.attempt == attempt; });
}

void RecordModel::tell(Vacancy vacancy) {
  for (std::size_t i = 0; i < std::min(queue_.size(), told_at_once); ++i) {
    pushed.push_back({queue_[i].caller, Vacant{vacancy, record_.term}});
  }
}

std::optional<Attempt> RecordModel::holder() const {
  if (record_.mark != Mark::held) return std::nullopt;
  return record_.attempt;
}

}  // namespace conclave::sim
