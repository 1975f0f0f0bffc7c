// What one candidate has asked of the store it also gives back: every attempt is granted, or
// withdrawn before the next one begins; a term is released only after it was valid, has been
// stepped down from, and its work has ended or a whole lease has passed.
#pragma once

#include <optional>
#include <set>

#include <core/output.hpp>

#include "simulation/verdict.hpp"

namespace conclave::sim {

class GiveBack {
 public:
  void campaigned(Attempt attempt, bool healthy, Verdict& verdict) {
    if (!healthy) verdict.broken("nobody unhealthy campaigns", "");
    if (bid_ && *bid_ != attempt) verdict.broken("an attempt is granted or withdrawn", "");
    if (spent_.contains(attempt)) verdict.broken("an attempt is not used again", "");
    bid_ = attempt;
  }
  // `valid_once`: a term of this attempt was elected. `over`: it is not valid now, and its work has
  // ended or had a whole lease.
  void resigned(const core::DoResign& call, bool valid_once, bool over, Verdict& verdict) {
    if (call.was_valid && !valid_once) {
      verdict.broken("a grant that was never valid is abandoned, not released", "");
    }
    // The store may have forgotten it, and more: who gives it back once more is careful.
    const bool again = spent_.contains(call.attempt);
    if (!call.was_valid && valid_once && !again) {
      verdict.broken("a valid term is released, not abandoned", "");
    }
    if (!over) verdict.broken("step down first, then release", "");
    spend(call.attempt);
  }
  // Granted, or over by the word of the store: nothing is left to give back.
  void dropped() {
    if (bid_) spend(*bid_);
  }

 private:
  void spend(Attempt attempt) {
    spent_.insert(attempt);
    if (bid_ == attempt) bid_.reset();
  }

  std::optional<Attempt> bid_;
  std::set<Attempt> spent_;
};

}  // namespace conclave::sim
