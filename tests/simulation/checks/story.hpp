// What one candidate tells its user makes sense: elected, then stopping, then lost, and so on;
// nothing is won after stop or while unhealthy; a loss has its reason; a cool-down is kept.
#pragma once

#include <core/output.hpp>

#include "simulation/verdict.hpp"

namespace conclave::sim {

class Story {
 public:
  explicit Story(std::string who = {}) : who_(std::move(who)) {}

  void started() { stop_asked_ = false; }
  void stop_asked() { stop_asked_ = true; }
  void health(bool healthy) { healthy_ = healthy; }
  // Somebody else was elected, or this candidate has begun anew.
  void turn_passed() { resting_until_.reset(); }

  void elected(const core::Elected& news, Instant now, Verdict& verdict) {
    if (phase_ != Phase::none) broken("elected and lost alternate", verdict);
    if (stop_asked_) broken("nobody is elected after stop", verdict);
    if (!healthy_) broken("nobody unhealthy is elected", verdict);
    if (resting_until_ && now < *resting_until_)
      broken("an ex-leader lets others go first", verdict);
    phase_ = Phase::leading;
    overrun_ = false;
    deadline_ = news.deadline;
  }
  void extended(const core::Extended& news, Verdict& verdict) {
    if (phase_ == Phase::none) broken("only a term is extended", verdict);
    if (overrun_) broken("no renewal counts after the drain limit", verdict);
    deadline_ = news.deadline;
  }
  void jeopardy(Verdict& verdict) {
    if (phase_ == Phase::none) broken("only a term is in jeopardy", verdict);
  }
  // `due`: the term of the schedule that has just fired, if it is one that did.
  void stopping(const core::Stopping& news, std::optional<Term> due, Verdict& verdict) {
    if (news.reason == LossReason::term_limit && due != news.term) {
      broken("a schedule ends only the term that it was armed for", verdict);
    }
    if (phase_ != Phase::leading) broken("a stop token fires once per term", verdict);
    phase_ = Phase::stopping;
  }
  void overrun(Verdict& verdict) {
    if (phase_ == Phase::leading || overrun_) broken("a drain overruns once", verdict);
    overrun_ = true;
  }
  // `definite`: the input of this step said that the term is over.
  void lost(const core::Lost& news, Instant now, bool definite, bool drained, Duration cool_down,
            Verdict& verdict) {
    if (phase_ != Phase::stopping) broken("the stop token fires before a term is lost", verdict);
    phase_ = Phase::none;
    switch (news.reason) {
      case LossReason::superseded:
      case LossReason::record_gone:
      case LossReason::session_lost:
      case LossReason::election_ended:
        if (!definite) broken("a term is not lost without a definite answer", verdict);
        return;
      case LossReason::lease_expired:
        if (now < deadline_ && !drained) broken("a term is not lost before its deadline", verdict);
        return;
      case LossReason::resigned:
      case LossReason::term_limit:
      case LossReason::unhealthy: resting_until_ = now + cool_down; [[fallthrough]];
      case LossReason::stopped:
        if (now < deadline_ && !drained) broken("work ends before its term is given up", verdict);
        return;
    }
  }
  // `over`: the store has just said that the term is over.
  void answered(bool over, bool leads, Verdict& verdict) const {
    if (over && leads) broken("a definite answer ends the term at once", verdict);
  }
  // After every step.
  void role(Role role, Verdict& verdict) const {
    if ((role == Role::leader) != (phase_ == Phase::leading)) {
      broken("the role is leader from elected to stopping", verdict);
    }
  }

 private:
  enum class Phase { none, leading, stopping };

  void broken(const char* rule, Verdict& verdict) const { verdict.broken(rule, who_); }

  std::string who_;
  Phase phase_ = Phase::none;
  bool stop_asked_ = false;
  bool healthy_ = true;
  bool overrun_ = false;
  Instant deadline_;
  std::optional<Instant> resting_until_;
};

}  // namespace conclave::sim
