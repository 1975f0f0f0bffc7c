// Who lets others go first when a place is given back: whoever has waited for fewer turns than
// there are others, as far as is known here. So those who hand a place over again and again take
// turns, and each time one of them asks for it, and not all at once. Nobody is certain of anything:
// who has waited for longest may be gone, so the others ask a moment later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <conclave/term.hpp>

namespace conclave::postgres {

class Courtesy {
 public:
  // Somebody was seen to lead. What is older than what was known before changes nothing.
  void has_led(const std::string& candidate, Term term);

  // It was told that this term is over; perhaps before anybody saw whose it was.
  void is_over(Term term);

  // The place is free: who of these asks for it at once. The others let go first who has waited for
  // longer; at most once for each term, however often that is told, and by whomever.
  [[nodiscard]] std::vector<std::string> who_asks(std::vector<std::string> candidates);

  [[nodiscard]] std::size_t size() const noexcept { return leaders_.size(); }

 private:
  [[nodiscard]] bool have_others_waited_longer(const std::string& candidate) const;

  std::map<std::string, std::uint64_t> leaders_;  // those of late, and in which turn
  std::uint64_t turns_ = 0;
  Term newest_{};
  Term let_go_{};
};

}  // namespace conclave::postgres
