// The election machine: one candidate's whole behaviour as a pure function of what happens to it.
//
// It has no clock, thread, socket or source of randomness. The time comes with every step, the seed
// with the constructor. The runtime and the simulator drive the same class: they give it inputs,
// carry out its outputs in order, and step it again at next_wakeup(). Start reading at step().
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>

#include <conclave/role.hpp>
#include <conclave/timing.hpp>

#include "core/evidence.hpp"
#include "core/output.hpp"
#include "core/random.hpp"
#include "core/releases.hpp"
#include "core/states.hpp"

namespace conclave::core {

// The instants at which renewals are due: every `step` from `phase` on. Candidates of one store
// object have the same, so that their renewals travel together, up to some hundreds; others have
// another phase, so that a fleet does not march in step. Without a step every candidate has its own
// instants.
struct RenewalGrid {
  Duration step{};
  Duration phase{};

  // The last one that is not after `at`.
  [[nodiscard]] constexpr Instant before(Instant at) const noexcept {
    if (step <= Duration::zero()) return at;
    const Duration past = (at.time_since_epoch() - phase) % step;
    return at - (past < Duration::zero() ? past + step : past);
  }
};

// What many candidates have in common.
struct Pace {
  Timing timing;
  RenewalGrid grid{};
};

struct Settings {
  Settings(std::string id, std::shared_ptr<const Pace> common)
      : candidate(std::move(id)), pace(std::move(common)) {}
  Settings(std::string id, Timing timing, RenewalGrid grid = {})
      : Settings(std::move(id), std::make_shared<const Pace>(Pace{std::move(timing), grid})) {}

  std::string candidate;  // the id
  std::shared_ptr<const Pace> pace;
};

// What a person would want to know, as of the last step.
struct Status {
  Role role{};
  std::string_view state;
  Term term;         // while it holds one, valid or not yet
  Instant deadline;  // of that term
  Attempt attempt;   // likewise
  bool jeopardy = false;
  std::uint32_t place = 0;  // in the store's queue
  Term highest_term_seen;
  std::string_view leader;  // as last seen; empty for none
  Term leader_term;
};

class Machine {
 public:
  Machine(Settings settings, const std::array<std::uint64_t, 4>& seed)
      : Machine(std::move(settings), std::make_shared<Random>(seed)) {}

  // Machines that are stepped by one thread may share one: there may be many thousands.
  Machine(Settings settings, std::shared_ptr<Random> random)
      : settings_(std::move(settings)), random_(std::move(random)) {}

  // Takes one input at one instant.
  [[nodiscard]] Outputs step(Instant now, const Input& input);

  // When to step with a Tick if nothing else happens; nothing means: not before the next input.
  [[nodiscard]] std::optional<Instant> next_wakeup() const noexcept;

  // The hold rule: whether the candidate leads at that instant. It needs no step before it, so that
  // a process that wakes from a long sleep reads false at once.
  [[nodiscard]] bool leads_at(Instant now) const noexcept;

  // Stopped, and nothing is left to give back.
  [[nodiscard]] bool at_rest() const noexcept;

  [[nodiscard]] Status status() const noexcept;
  [[nodiscard]] Role role() const noexcept;

  // For invariants.cpp and tests.
  [[nodiscard]] const State& state() const noexcept { return state_; }
  [[nodiscard]] const std::string& candidate() const noexcept { return settings_.candidate; }
  [[nodiscard]] const Timing& timing() const noexcept { return settings_.pace->timing; }
  [[nodiscard]] std::string_view leader() const noexcept;  // as last seen; empty for nobody
  [[nodiscard]] OpId observation() const noexcept { return observation_; }
  [[nodiscard]] bool has_bid() const noexcept { return attempt_.has_value(); }
  [[nodiscard]] bool is_healthy() const noexcept { return healthy_; }
  [[nodiscard]] bool is_stop_asked() const noexcept { return stop_asked_; }

 private:
  // inputs (machine.cpp)
  void on(const Start&, Instant now);
  void on(const Tick&, Instant now);
  void on(const CampaignDone& done, Instant now);
  void on(const RenewDone& done, Instant now);
  void on(const ResignDone& done, Instant now);
  void on(const Observed& observed, Instant now);
  void on(const ResignAsked&, Instant now);
  void on(const WorkEnded& ended, Instant now);
  void on(const TermLimitDue& due, Instant now);
  void on(const HealthChanged& change, Instant now);
  void on(const Stop&, Instant now);

  // what the passing of time brings; each says whether it changed the state (machine.cpp)
  bool pass_deadlines(Instant now);
  void advance(Instant now);
  bool advance(Idle&, Instant) { return false; }
  bool advance(Gated&, Instant) { return false; }
  bool advance(Bidding& bidding, Instant now);
  bool advance(Waiting& waiting, Instant now);
  bool advance(Retrying& retrying, Instant now);
  bool advance(Resting& resting, Instant now);
  bool advance(Reserved& reserved, Instant now);
  bool advance(Leading& leading, Instant now);
  bool advance(Draining& draining, Instant now);
  bool advance(WindingDown& winding, Instant now);
  bool advance(Stopped& stopped, Instant now);

  // standing for election (machine_follower.cpp)
  void stand(Instant now);
  void send_campaign(Instant now);
  void answered(const Granted& granted, Instant now);
  void answered(const Held& held, Instant now);
  void answered(const Unknown& unknown, Instant now);
  void answered(const Refused& refused, Instant now);
  void retry(Instant now);
  [[nodiscard]] Instant next_look(const Held& held, Instant now);
  void wake(Instant at);
  [[nodiscard]] bool is_remnant(Attempt attempt) const;
  void spend(Attempt attempt) {
    spent_attempt_ = attempt;
    is_taken_back_ = false;
  }
  void saw(const Record& record, bool in_reply, Instant now);
  void observed(const Record& record, Instant now);
  void observed(const Vacant& vacant, Instant now);
  void observed(const YourTurn&, Instant now);
  void observed(const SessionLost&, Instant now);
  void observed(const Ended&, Instant now);
  void withdraw(Instant now);
  void step_aside(Instant now);
  void rest(Term after, Instant now);
  void note_leader(std::string_view who, Term term);
  void end_election(Instant now);
  void finish();

  // holding a term (machine_leader.cpp)
  [[nodiscard]] Tenure* tenure() noexcept;
  [[nodiscard]] const Tenure* tenure() const noexcept;
  void renew_when_due(Tenure& tenure, Instant now);
  void renewed(Tenure& tenure, const Renewed& answer, Instant now);
  void not_renewed(Tenure& tenure, const Error& error, Instant now);
  void jeopardize(Tenure& tenure);
  void cancel_renewal(Tenure& tenure);
  void elect();
  void drain(LossReason reason, Instant now);
  void overrun(Draining& draining);
  void expire(Instant now);
  void lose(LossReason reason, Instant now);
  void hand_over(Instant now);
  void release(const Tenure& tenure, bool was_valid, Instant now);
  void after_term(LossReason reason, Term term, Instant now);

  Settings settings_;
  std::shared_ptr<Random> random_;
  State state_;
  Releases releases_;
  Evidence evidence_;
  Outputs* out_ = nullptr;  // of the present step

  std::optional<Attempt> attempt_;    // of the standing bid
  Attempt spent_attempt_;             // of the bid or term before it; zero: none
  std::optional<Resting> cool_down_;  // not over yet
  Term highest_term_seen_;
  std::uint32_t place_ = 0;
  std::uint32_t failures_ = 0;  // campaigns in a row that were not answered
  OpId next_op_ = 1;
  OpId observation_ = 0;
  bool role_known_ = false;
  bool healthy_ = true;
  bool stop_asked_ = false;
  bool ended_ = false;
  bool is_own_leader_ = false;
  bool is_taken_back_ = false;                 // the spent attempt, by the store's word
  std::unique_ptr<const std::string> leader_;  // none: nobody, or this candidate itself
  Term leader_term_;
};

}  // namespace conclave::core
