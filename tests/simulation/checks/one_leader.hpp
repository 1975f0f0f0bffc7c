// At most one valid leader at any instant of the omniscient clock.
//
// Validity is an interval: from the election to the deadline on the holder's clock, unless the term
// is lost before. Every overlap begins at an instant at which somebody becomes or stays valid by a
// step, so it is enough to ask all the others there, without stepping them: a paused process must
// read false.
#pragma once

#include "simulation/verdict.hpp"

namespace conclave::sim {

class OneLeader {
 public:
  // `leads(other)` asks another process's is_leader() at this very instant.
  template <typename Leads>
  void stepped(std::uint32_t process, std::uint32_t processes, Leads leads,
               Verdict& verdict) const {
    if (!leads(process)) return;
    for (std::uint32_t other = 0; other < processes; ++other) {
      if (other != process && leads(other)) {
        verdict.broken("at most one valid leader", name_of(process) + " and " + name_of(other));
      }
    }
  }
};

}  // namespace conclave::sim
