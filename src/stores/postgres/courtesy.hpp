// Who lets others go first when a place is given back: whoever has led after somebody else who
// waits, too, as far as is known here. So those who hand a place over again and again take turns,
// and each time one of them asks for it, and not all at once. Nobody is certain of anything: who
// waits for longest may be gone, so the others ask a moment later.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <conclave/term.hpp>

namespace conclave::postgres {

class Courtesy {
 public:
  // Somebody was seen to lead. What is older than what was seen before changes nothing.
  void has_led(const std::string& candidate, Term term);

  // The place is free. At most once for each leader, however often that is told, and by whomever:
  // then it is asked.
  [[nodiscard]] bool lets_others_go_first(const std::string& candidate);

 private:
  struct Last {
    Term term{};
    std::uint64_t turn = 0;
  };

  std::map<std::string, Last> leaders_;  // those of late
  std::uint64_t turns_ = 0;
  Term newest_{};
  Term let_go_{};
};

}  // namespace conclave::postgres
