// A resignation never removes the term of another.
#pragma once

#include <optional>

#include <conclave/term.hpp>

#include "simulation/verdict.hpp"

namespace conclave::sim {

class ResignGuard {
 public:
  // Whose term the store held before and after it executed the resignation.
  static void executed(Attempt resigned, std::optional<Attempt> before,
                       std::optional<Attempt> after, Verdict& verdict) {
    if (before && *before != resigned && after != before) {
      verdict.broken("resign never removes another's term", "");
    }
  }
};

}  // namespace conclave::sim
