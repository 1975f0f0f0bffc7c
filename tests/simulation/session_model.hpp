// Stores whose places live and die with a session: ZooKeeper, PostgreSQL advisory locks. Candidates
// stand in a queue of nodes; the lowest leads; the server deletes the nodes of a session that was
// silent for a lease on its own clock.
//
// Its treachery: a heartbeat may be acknowledged without having touched the session. All that an
// acknowledgement proves is that the one before it counted, so that is what the client reports as
// `since`.
#pragma once

#include <map>
#include <set>

#include <core/random.hpp>

#include "simulation/store_model.hpp"

namespace conclave::sim {

class SessionModel : public StoreModel {
 public:
  struct Kind {
    std::int64_t rate = 0;
    double stale_acknowledgements = 0;  // how often a heartbeat does not touch
    Duration tick{};                    // expiry is rounded up to it
  };
  SessionModel(Kind kind, std::uint64_t seed) : kind_(kind), wall_(kind.rate), random_(seed) {}

  CampaignAnswer campaign(const CampaignRequest& request, Real now) override;
  RenewAnswer renew(const RenewRequest& request, Real now) override;
  Answer resign(const ResignRequest& request, Real now) override;
  void keep_alive(const Caller& caller, Real now) override;

  void restart(DataLoss loss, Real now) override;
  void end(Real now) override;

  [[nodiscard]] std::optional<Real> next_event() const override;
  void advance(Real now) override;

  [[nodiscard]] std::optional<Attempt> holder() const override;
  [[nodiscard]] Real counted_from(Attempt attempt) const override;

 private:
  struct Session {
    Duration lease{};
    Real touched;
    Real latest_heartbeat;
    Real expires;
  };
  struct Node {
    Term term;
    Caller caller;
    Attempt attempt;
    std::string candidate;
    std::uint64_t stamp = 0;
  };

  Session* open(const Caller& caller, Duration lease, Real now);
  [[nodiscard]] bool comes_late(const Caller& caller);
  void touch(Session& session, Real at) const;
  void expire(std::uint64_t id);
  void remove(std::vector<Node>::iterator node);
  [[nodiscard]] std::vector<Node>::iterator find(Attempt attempt);

  Kind kind_;
  WallClock wall_;
  core::Random random_;
  std::map<std::uint64_t, Session> sessions_;
  std::set<std::uint64_t> expired_;
  // The latest call of each session, also of one that is about to be opened: within a session calls
  // never overtake each other.
  std::map<std::uint64_t, std::uint64_t> order_;
  std::vector<Node> nodes_;  // in the order of their terms
  std::uint64_t last_term_ = 0;
  bool ended_ = false;
};

}  // namespace conclave::sim
