#include "conformance/history.hpp"

#include <algorithm>

namespace conclave::conformance {

std::string in_milliseconds(Instant at) {
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch());
  return std::to_string(static_cast<double>(whole.count()) / 1000);
}

void History::elected(const std::string& election, const std::string& candidate, Term term,
                      Instant at) {
  const std::scoped_lock lock(mutex_);
  elections_[election].push_back({candidate, term, at, std::nullopt});
}

void History::over(const std::string& election, Term term, Instant at) {
  const std::scoped_lock lock(mutex_);
  for (Reign& reign : elections_[election]) {
    if (reign.term == term && !reign.until) reign.until = at;
  }
}

std::optional<std::string> History::contradiction(Instant now) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& [election, told] : elections_) {
    auto reigns = told;
    std::stable_sort(reigns.begin(), reigns.end(),
                     [](const Reign& a, const Reign& b) { return a.from < b.from; });
    for (std::size_t i = 1; i < reigns.size(); ++i) {
      const Reign& before = reigns[i - 1];
      const Reign& after = reigns[i];
      const std::string who = "in \"" + election + "\" " + after.candidate + " (term " +
                              std::to_string(after.term.value) + ") after " + before.candidate +
                              " (term " + std::to_string(before.term.value) + "): ";
      if (after.term <= before.term) return who + "the term did not grow";
      if (after.from < before.until.value_or(now)) {
        return who + "both led at once, from " + in_milliseconds(after.from) + " until " +
               in_milliseconds(before.until.value_or(now));
      }
    }
  }
  return std::nullopt;
}

std::vector<std::string> History::leaders(const std::string& election) const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  const auto found = elections_.find(election);
  if (found == elections_.end()) return names;
  for (const Reign& reign : found->second) names.push_back(reign.candidate);
  return names;
}

}  // namespace conclave::conformance
