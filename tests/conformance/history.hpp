// What the candidates of a test said of themselves, and whether it can be true.
//
// At most one of them leads at any instant, and every term is above those before it. All candidates
// of a test read one clock, so their words can be laid on one line.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <conclave/term.hpp>
#include <conclave/time.hpp>

namespace conclave::conformance {

// For the words of a test on its failure.
[[nodiscard]] std::string in_milliseconds(Instant at);

class History {
 public:
  void elected(const std::string& election, const std::string& candidate, Term term, Instant at);

  // The term was not valid any more from that instant.
  void over(const std::string& election, Term term, Instant at);

  // The sentence that says what cannot be, or nothing. Terms that go on count until `now`.
  [[nodiscard]] std::optional<std::string> contradiction(Instant now) const;

  // Who led, in the order of the terms.
  [[nodiscard]] std::vector<std::string> leaders(const std::string& election) const;

 private:
  struct Reign {
    std::string candidate;
    Term term;
    Instant from;
    std::optional<Instant> until;
  };

  mutable std::mutex mutex_;
  std::map<std::string, std::vector<Reign>> elections_;
};

}  // namespace conclave::conformance
