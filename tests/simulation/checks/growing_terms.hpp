// Terms strictly increase from election to election, whoever is elected.
#pragma once

#include <conclave/term.hpp>

#include "simulation/verdict.hpp"

namespace conclave::sim {

class GrowingTerms {
 public:
  void elected(Term term, Verdict& verdict) {
    if (term <= latest_) {
      verdict.broken("terms strictly increase",
                     std::to_string(term.value) + " after " + std::to_string(latest_.value));
    }
    latest_ = term;
  }

 private:
  Term latest_;
};

}  // namespace conclave::sim
