#include "stores/postgres/courtesy.hpp"

#include <algorithm>
#include <utility>

namespace conclave::postgres {

void Courtesy::has_led(const std::string& candidate, Term term) {
  if (term <= newest_) return;
  newest_ = term;
  leaders_[candidate] = {term, ++turns_};
  // Who has missed two turns is gone.
  const std::uint64_t oldest = 2 * leaders_.size();
  std::erase_if(leaders_, [&](const auto& each) { return turns_ - each.second.turn > oldest; });
}

bool Courtesy::lets_others_go_first(const std::string& candidate) {
  const auto own = leaders_.find(candidate);
  if (own == leaders_.end() || let_go_ == newest_) return false;
  const bool has_elder = std::any_of(leaders_.begin(), leaders_.end(), [&](const auto& each) {
    return each.second.term < own->second.term;
  });
  if (has_elder) let_go_ = newest_;
  return has_elder;
}

}  // namespace conclave::postgres
