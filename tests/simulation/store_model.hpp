// A store as seen from its server: requests arrive one at a time and are executed at an instant.
//
// Models misbehave as the real servers do, within what a store's page promises. They share no code
// with the real stores: what is proved here is the core.
#pragma once

#include <optional>
#include <vector>

#include <conclave/store.hpp>

#include "simulation/clocks.hpp"

namespace conclave::sim {

struct Caller {
  std::uint32_t process = 0;
  std::uint32_t incarnation = 0;
  std::uint64_t session = 0;
  std::uint64_t order = 0;  // of the calls of one session
};

struct CampaignRequest {
  Caller caller;
  std::string candidate;
  Attempt attempt;
  Term highest_term_seen;
  Seen seen;
  Duration lease{};
};

struct RenewRequest {
  Caller caller;
  std::string candidate;
  Term term;
  Attempt attempt;
  bool valid = false;
  Duration lease{};
};

struct ResignRequest {
  Caller caller;
  Attempt attempt;
  std::optional<Term> term;
  bool was_valid = false;
};

struct Pushed {
  Caller to;
  Observation what;
};

// last_mark: that somebody has given its term back, unless another one was granted since.
enum class DataLoss { none, last_mark, stale, everything };

class StoreModel {
 public:
  virtual ~StoreModel() = default;

  // `since` of an answer is the client's to fill in.
  virtual CampaignAnswer campaign(const CampaignRequest& request, Real now) = 0;
  virtual RenewAnswer renew(const RenewRequest& request, Real now) = 0;
  virtual Answer resign(const ResignRequest& request, Real now) = 0;
  virtual void observe(const Caller&, Real) {}
  virtual void keep_alive(const Caller&, Real) {}  // by the client itself, whoever leads

  // Faults. A model ignores those that its family cannot have.
  virtual void restart(DataLoss, Real) {}
  virtual void snapshot() {}
  virtual void wipe() {}
  // Whether a wipe is safe for candidates that have never seen a term.
  [[nodiscard]] virtual bool protects_newcomers() const { return false; }
  virtual void delete_early(Real) {}
  virtual void step_clock(Duration) {}
  virtual void end(Real now) = 0;

  // Things that happen at the server by themselves.
  [[nodiscard]] virtual std::optional<Real> next_event() const { return std::nullopt; }
  virtual void advance(Real) {}

  // The attempt whose term the store holds, if any; for the resign guard.
  [[nodiscard]] virtual std::optional<Attempt> holder() const = 0;

  // The instant from which the judge of the lease counts for that holder; for the hold arithmetic.
  [[nodiscard]] virtual Real counted_from(Attempt attempt) const = 0;

  // What it has told its clients since the last look here.
  std::vector<Pushed> pushed;
};

}  // namespace conclave::sim
