// Whoever judges a lease waits for the whole of it, on a clock that runs at most 10.1 % fast, from
// the instant at which the store executed the request. A validity that reaches beyond that instant
// would be overtaken by the worst successor, even if none came this time.
#pragma once

#include "simulation/clocks.hpp"
#include "simulation/verdict.hpp"

namespace conclave::sim {

class HoldArithmetic {
 public:
  static void confirmed(Real counted_from, Real valid_until, Duration lease, Verdict& verdict) {
    const Real worst_successor = counted_from + lease * 1000 / 1101;
    if (valid_until > worst_successor) {
      verdict.broken("validity ends before the worst successor may begin",
                     std::to_string((valid_until - worst_successor).count()) + " ns too long");
    }
  }
};

}  // namespace conclave::sim
