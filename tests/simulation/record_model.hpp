// Stores that keep a record: Redis and PostgreSQL rows, where the server's clock judges the lease,
// and etcd's session key, where the candidates' own clocks do.
#pragma once

#include "simulation/store_model.hpp"

namespace conclave::sim {

class RecordModel : public StoreModel {
 public:
  struct Kind {
    bool server_judges = true;  // has a clock, an age, and can lose data; otherwise none of it
    bool repairs = true;        // renew rewrites a record that vanished
    std::int64_t rate = 0;      // of the server's clock
    // Leaders listen at the server, as on Redis: whoever finds no record hears that somebody does.
    bool hears_leaders = false;
  };
  explicit RecordModel(Kind kind) : kind_(kind), wall_(kind.rate) {}

  CampaignAnswer campaign(const CampaignRequest& request, Real now) override;
  RenewAnswer renew(const RenewRequest& request, Real now) override;
  Answer resign(const ResignRequest& request, Real now) override;
  void observe(const Caller& caller, Real now) override;

  void restart(DataLoss loss, Real now) override;
  void snapshot() override { saved_ = record_; }
  void wipe() override { record_ = {}; }
  [[nodiscard]] bool protects_newcomers() const override { return kind_.hears_leaders; }
  void delete_early(Real now) override;
  void step_clock(Duration by) override { wall_.step(by); }
  void end(Real now) override;

  [[nodiscard]] std::optional<Attempt> holder() const override;
  [[nodiscard]] Real counted_from(Attempt) const override { return touched_; }

 private:
  enum class Mark { none, held, released, abandoned };
  struct Place {
    Mark mark = Mark::none;
    Term term;
    Attempt attempt;
    std::string leader;
    std::uint64_t stamp = 0;
    Duration lease{};      // what others wait for
    Duration own_lease{};  // what the holder was granted
    Duration previous_lease{};
    Duration inherited_lease{};  // of a holder before it who may not be over
    Vacancy vacancy{};
    std::uint64_t run = 0;  // of the server that granted it
    bool repaired = false;  // written anew by a renewal
    bool is_given_back = false;
    Caller holder;
    ServerTime renewed;
    ServerTime until;
  };
  struct Waiter {
    Caller caller;
    Attempt attempt;
    Real last_bid;
  };

  [[nodiscard]] bool is_expired(const Seen& seen, Real now) const;
  [[nodiscard]] std::optional<Vacancy> vacancy_for(const CampaignRequest& request, Real now) const;
  [[nodiscard]] Record shown(Real now) const;
  [[nodiscard]] Granted granted(Real now) const;
  Held stand(const CampaignRequest& request, Real now);
  CampaignAnswer grant(const CampaignRequest& request, Vacancy vacancy, Real now);
  void touch(Duration lease, Real now);
  void forget(Attempt attempt);
  void tell(Vacancy vacancy);
  void show(const Caller& to, Real now) { pushed.push_back({to, shown(now)}); }

  Kind kind_;
  WallClock wall_;
  Real started_ = -std::chrono::hours{1};
  Place record_;
  Place saved_;
  std::vector<Waiter> queue_;
  std::vector<Attempt> listening_;  // who was granted a term, and has not given it back
  std::uint64_t next_stamp_ = 1;
  std::uint64_t run_ = 1;
  Real touched_{};
  bool ended_ = false;
};

}  // namespace conclave::sim
