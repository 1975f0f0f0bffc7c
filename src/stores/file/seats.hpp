// The places that one store object holds, and the attempts that are over.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <string>

#include "stores/file/place.hpp"

namespace conclave::file {

class Seats {
 public:
  [[nodiscard]] Seat* find(const std::string& election) {
    const auto found = seats_.find(election);
    return found != seats_.end() ? &found->second : nullptr;
  }

  // One that is there already is over: its file was replaced.
  void put(const std::string& election, Seat seat) {
    if (const Seat* old = find(election)) drop(election, old->slot().term);
    seats_.emplace(election, std::move(seat));
  }

  // Gives the lock up without a mark.
  void drop(const std::string& election, Term term) {
    const auto found = seats_.find(election);
    if (found == seats_.end() || found->second.slot().term != term) return;
    spend(found->second.slot().attempt);
    seats_.erase(found);
  }

  void leave(const std::string& election, MarkKind mark) {
    const auto found = seats_.find(election);
    spend(found->second.slot().attempt);
    found->second.leave(mark);
    seats_.erase(found);
  }

  // Nothing is granted to that attempt any more. No lease would end what a late copy of an old bid
  // gets, so the latest ones are remembered.
  void spend(const Attempt& attempt) {
    spent_.push_back(attempt);
    if (spent_.size() > most_spent) spent_.pop_front();
  }
  [[nodiscard]] bool is_spent(const Attempt& attempt) const {
    return std::find(spent_.begin(), spent_.end(), attempt) != spent_.end();
  }

 private:
  static constexpr std::size_t most_spent = 1024;

  std::map<std::string, Seat> seats_;
  std::deque<Attempt> spent_;
};

}  // namespace conclave::file
