// The standing bids of one election: first come, first served.
#pragma once

#include <algorithm>
#include <vector>

#include <conclave/store.hpp>

namespace conclave::memory {

class Queue {
 public:
  // Puts a bid in line, or renews the one that stands, and says its place; 1 is next. A candidate
  // that comes back with a new attempt keeps its place.
  std::uint32_t stand(const Bid& bid, Duration lease, Instant now);

  // Takes a bid out. False when there is none.
  bool leave(const Attempt& attempt);
  void leave_as(const std::string& candidate);

  // Drops the bids of those who should have looked again long ago. `lease` is the one in the
  // record, which waiters go by.
  void drop_silent(Duration lease, Instant now);

  // How many stand before that candidate; all of them when it does not stand itself.
  [[nodiscard]] std::uint32_t before(const Attempt& attempt) const;

  [[nodiscard]] const std::string* first() const {
    return bids_.empty() ? nullptr : &bids_.front().candidate;
  }
  [[nodiscard]] bool has(const Attempt& attempt) const;
  [[nodiscard]] std::vector<Standing> list() const;
  void clear() { bids_.clear(); }

 private:
  struct Entry {
    std::string candidate;
    std::string metadata;
    Attempt attempt;
    Instant repeated;
    Duration lease{};
    std::uint32_t told = 0;  // the place in the last answer: it decides when the next look comes
  };

  std::vector<Entry> bids_;
};

}  // namespace conclave::memory
