// The resource that users protect: it refuses a lower term than it has seen. Writes travel and
// arrive late, also after their writer has lost its term.
#pragma once

#include <map>

#include <conclave/term.hpp>

#include "simulation/verdict.hpp"

namespace conclave::sim {

class FencedRegister {
 public:
  // `is_valid`: the writer is the valid leader of that term as the write arrives.
  void write(Term term, std::uint32_t writer, bool is_valid, Verdict& verdict) {
    const bool accepted = term >= highest_;
    if (accepted) highest_ = term;
    if (!accepted && is_valid) {
      verdict.broken("the valid leader is never fenced off", "term " + std::to_string(term.value));
    }
    const auto [owner, is_new] = owners_.try_emplace(term, writer);
    if (!is_new && owner->second != writer) {
      verdict.broken("a term has one owner", "term " + std::to_string(term.value));
    }
  }

 private:
  Term highest_;
  std::map<Term, std::uint32_t> owners_;
};

}  // namespace conclave::sim
