// The standing bids of one election: first come, first served.
#pragma once

#include <memory>
#include <span>
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

  // The place is free since now: those who stand get their turns, one after the other.
  void call_up(Instant now);

  // For how long one with that many before it still has to wait for its turn, at most `longest`
  // from the call. Nobody waits where nobody stands.
  [[nodiscard]] Duration turn_in(std::uint32_t before, Duration longest, Instant now) const;

  // How many stand before that candidate; all of them when it does not stand itself.
  [[nodiscard]] std::uint32_t before(const Attempt& attempt) const;

  [[nodiscard]] const std::string* first() const {
    return line_ ? &line_->bids.front().candidate : nullptr;
  }
  [[nodiscard]] bool has(const Attempt& attempt) const;
  [[nodiscard]] std::vector<Standing> list() const;
  void clear() { line_.reset(); }

 private:
  struct Entry {
    std::string candidate;
    std::string metadata;
    Attempt attempt;
    Instant repeated;
    Duration lease{};
    std::uint32_t told = 0;  // the place in the last answer: it decides when the next look comes
  };

  struct Line {
    std::vector<Entry> bids;
    Instant called;
  };

  [[nodiscard]] std::span<const Entry> bids() const;
  template <typename Leaves>
  bool drop(Leaves leaves);

  // Only while somebody stands: in a process with very many elections, hardly any has a queue.
  std::unique_ptr<Line> line_;
};

}  // namespace conclave::memory
