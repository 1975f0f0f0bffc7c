// Hears what candidates say of themselves, and tells whether two of them led at once. The same
// rules as in scripts/check-history, for what a demonstration claims.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/conclave/joiner.hpp"

namespace conclave::app {

class Witness {
 public:
  void hear(const Said& said);

  // The process was killed just after this instant: it did not lead for longer.
  void killed(const std::string& candidate, Instant at);

  [[nodiscard]] std::size_t terms() const noexcept { return terms_.size(); }

  // What is wrong, in a sentence: two that led at once, or a term that is not above the last one.
  [[nodiscard]] std::optional<std::string> breach() const;

 private:
  struct Term {
    std::string candidate;
    std::uint64_t number = 0;
    Instant begin{};
    Instant end{};
  };

  [[nodiscard]] Term* last_of(const std::string& candidate);

  std::vector<Term> terms_;
};

}  // namespace conclave::app
