#include "apps/conclave/witness.hpp"

#include <algorithm>

namespace conclave::app {

Witness::Term* Witness::last_of(const std::string& candidate) {
  const auto found = std::find_if(terms_.rbegin(), terms_.rend(),
                                  [&](const Term& each) { return each.candidate == candidate; });
  return found == terms_.rend() ? nullptr : &*found;
}

void Witness::hear(const Said& said) {
  if (said.event == "elected") {
    terms_.push_back({said.candidate, said.term, said.at, said.valid_until});
    return;
  }
  Term* const term = last_of(said.candidate);
  if (term == nullptr || term->number != said.term) return;
  if (said.event == "extended") term->end = std::max(term->end, said.valid_until);
  if (said.event == "lost") term->end = std::min(term->end, said.at);
}

void Witness::killed(const std::string& candidate, Instant at) {
  if (Term* const term = last_of(candidate)) term->end = std::min(term->end, at);
}

std::optional<std::string> Witness::breach() const {
  std::vector<Term> all = terms_;
  std::sort(all.begin(), all.end(), [](const Term& a, const Term& b) { return a.begin < b.begin; });
  const Term* longest = nullptr;
  std::uint64_t highest = 0;
  for (const Term& each : all) {
    if (longest != nullptr && each.begin < longest->end && each.begin < each.end) {
      return longest->candidate + " and " + each.candidate + " led at once, with the terms " +
             std::to_string(longest->number) + " and " + std::to_string(each.number);
    }
    if (each.number <= highest) {
      return each.candidate + " was elected for term " + std::to_string(each.number) +
             ", after term " + std::to_string(highest);
    }
    highest = each.number;
    if (longest == nullptr || each.end > longest->end) longest = &each;
  }
  return std::nullopt;
}

}  // namespace conclave::app
