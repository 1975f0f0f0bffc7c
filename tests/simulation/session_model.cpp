#include "simulation/session_model.hpp"

#include <algorithm>

namespace conclave::sim {
namespace {

const Unknown moved{{ErrorCode::unavailable, "connection moved", true, true}};

}  // namespace

CampaignAnswer SessionModel::campaign(const CampaignRequest& request, Real now) {
  if (ended_) return Refused{{ErrorCode::election_ended, "ended", false, false}};
  Session* session = open(request.caller, request.lease, now);
  if (comes_late(request.caller)) return moved;
  if (session == nullptr) return Unknown{{ErrorCode::unavailable, "session over", true, true}};
  touch(*session, now);
  auto node = find(request.attempt);
  if (node == nodes_.end()) {
    node = nodes_.insert(nodes_.end(), {Term{++last_term_}, request.caller, request.attempt,
                                        request.candidate, last_term_});
  }
  if (node == nodes_.begin()) {
    Granted granted;
    granted.term = node->term;
    granted.lease = session->lease;
    granted.vacancy = Vacancy::ended;
    return granted;
  }
  const Node& first = nodes_.front();
  Held held;
  held.record = Record{};
  held.record->leader = first.candidate;
  held.record->term = first.term;
  held.record->attempt = first.attempt;
  held.record->stamp = first.stamp;
  held.record->lease = session->lease;
  held.place = static_cast<std::uint32_t>(node - nodes_.begin());
  return held;
}

RenewAnswer SessionModel::renew(const RenewRequest& request, Real now) {
  if (ended_) return TermLost{LossReason::election_ended};
  const auto session = sessions_.find(request.caller.session);
  if (session == sessions_.end()) return TermLost{LossReason::session_lost};
  if (comes_late(request.caller)) return moved;
  // Acknowledged, but only as good as the heartbeat before.
  const bool stale = random_.chance(kind_.stale_acknowledgements);
  touch(session->second, stale ? session->second.latest_heartbeat : now);
  session->second.latest_heartbeat = now;
  const auto node = find(request.attempt);
  if (node == nodes_.end() || node->term != request.term) return TermLost{LossReason::record_gone};
  return Renewed{};
}

Answer SessionModel::resign(const ResignRequest& request, Real) {
  if (comes_late(request.caller)) return moved;
  const auto node = find(request.attempt);
  if (node == nodes_.end()) return Gone{};
  if (request.term && *request.term != node->term) return Gone{};
  remove(node);  // and no other
  return Done{};
}

void SessionModel::keep_alive(const Caller& caller, Real now) {
  const auto session = sessions_.find(caller.session);
  if (session != sessions_.end()) touch(session->second, now);
}

// A new leader of the ensemble gives every session its whole time again.
void SessionModel::restart(DataLoss, Real now) {
  for (auto& [id, session] : sessions_) touch(session, now);
}

void SessionModel::end(Real) {
  ended_ = true;
  nodes_.clear();
}

SessionModel::Session* SessionModel::open(const Caller& caller, Duration lease, Real now) {
  if (expired_.contains(caller.session)) {
    pushed.push_back({caller, SessionLost{}});
    return nullptr;
  }
  const auto [session, is_new] = sessions_.try_emplace(caller.session);
  if (is_new) session->second = {lease, now, now, now};
  return &session->second;
}

bool SessionModel::comes_late(const Caller& caller) {
  auto& latest = order_[caller.session];
  if (caller.order < latest) return true;
  latest = caller.order;
  return false;
}

void SessionModel::touch(Session& session, Real at) const {
  session.touched = std::max(session.touched, at);
  const Duration due = wall_.rate().shown(session.touched) + session.lease;
  session.expires = wall_.rate().reaches(due) + kind_.tick;
}

std::optional<Real> SessionModel::next_event() const {
  std::optional<Real> next;
  for (const auto& [id, session] : sessions_) {
    if (!next || session.expires < *next) next = session.expires;
  }
  return next;
}

void SessionModel::advance(Real now) {
  for (auto each = sessions_.begin(); each != sessions_.end();) {
    const auto& [id, session] = *each;
    if (session.expires > now) {
      ++each;
      continue;
    }
    expire(id);
    each = sessions_.erase(each);
  }
}

void SessionModel::expire(std::uint64_t id) {
  expired_.insert(id);
  for (auto node = nodes_.begin(); node != nodes_.end();) {
    if (node->caller.session != id) {
      ++node;
      continue;
    }
    const auto index = node - nodes_.begin();
    pushed.push_back({node->caller, SessionLost{}});
    remove(node);
    node = nodes_.begin() + index;
  }
}

// Everybody watches only the node before his own.
void SessionModel::remove(std::vector<Node>::iterator node) {
  const bool was_first = node == nodes_.begin();
  const Term term = node->term;
  const auto next = nodes_.erase(node);
  if (was_first && next != nodes_.end()) {
    pushed.push_back({next->caller, Vacant{Vacancy::ended, term}});
    pushed.push_back({next->caller, YourTurn{}});
  }
}

std::vector<SessionModel::Node>::iterator SessionModel::find(Attempt attempt) {
  return std::find_if(nodes_.begin(), nodes_.end(),
                      [&](const Node& node) { return node.attempt == attempt; });
}

Real SessionModel::counted_from(Attempt attempt) const {
  for (const Node& node : nodes_) {
    if (node.attempt == attempt) return sessions_.at(node.caller.session).touched;
  }
  return Real::zero();
}

std::optional<Attempt> SessionModel::holder() const {
  if (nodes_.empty()) return std::nullopt;
  return nodes_.front().attempt;
}

}  // namespace conclave::sim
