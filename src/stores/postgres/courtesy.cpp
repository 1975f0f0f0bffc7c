#include "stores/postgres/courtesy.hpp"

#include <algorithm>

namespace conclave::postgres {
namespace {

constexpr std::size_t most_leaders = 16;

}  // namespace

void Courtesy::has_led(const std::string& candidate, Term term) {
  if (term < newest_) return;
  is_over(term);  // or will be
  leaders_[candidate] = turns_;
  // Who has missed two turns is gone. Of those who come, lead once and go, only some are
  // remembered.
  const std::uint64_t oldest = 2 * std::min(leaders_.size(), most_leaders);
  std::erase_if(leaders_, [&](const auto& each) { return turns_ - each.second > oldest; });
}

void Courtesy::is_over(Term term) {
  if (term <= newest_) return;
  newest_ = term;
  turns_ += 1;
}

std::vector<std::string> Courtesy::who_asks(std::vector<std::string> candidates) {
  if (let_go_ == newest_) return candidates;
  const auto late = std::erase_if(
      candidates, [this](const auto& each) { return have_others_waited_longer(each); });
  if (late > 0) let_go_ = newest_;
  return candidates;
}

bool Courtesy::have_others_waited_longer(const std::string& candidate) const {
  const auto own = leaders_.find(candidate);
  return own != leaders_.end() && turns_ - own->second + 1 < leaders_.size();
}

}  // namespace conclave::postgres
