// One direction of one connection through the gate: what was read and is not yet sent.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

namespace conclave::fault {

using Clock = std::chrono::steady_clock;

// What the gate does to everything that flows in one direction.
struct Rules {
  std::chrono::milliseconds delay{0};
  bool silent = false;                       // nothing is read, nothing is sent
  std::optional<std::size_t> rate{};         // bytes per second
  std::optional<std::uint64_t> cut_after{};  // bytes; where the next would follow, a reset
};

class Flow {
 public:
  enum class Result { fine, broken, cut };

  // Takes what is there.
  Result read(int from, Clock::time_point now);
  // Passes on what is due, and the end of the stream after the last byte. Adds to `count`.
  Result send(int to, Rules& rules, Clock::time_point now, std::uint64_t& count);
  // Reads and forgets.
  void swallow(int from);
  void drop() { pieces_.clear(); }

  [[nodiscard]] bool wants_input(const Rules& rules) const;
  [[nodiscard]] bool wants_output(const Rules& rules) const;  // when there is room again
  // When there is something to do without any input.
  [[nodiscard]] Clock::time_point wakes(const Rules& rules) const;
  [[nodiscard]] bool input_ended() const noexcept { return input_ended_; }
  [[nodiscard]] bool ended() const noexcept { return output_ended_; }

 private:
  struct Piece {
    Clock::time_point read_at;
    std::string bytes;  // none: the end of the stream
  };

  [[nodiscard]] bool is_due(const Rules& rules, Clock::time_point now) const;
  Result send_piece(int to, Rules& rules, Clock::time_point now, std::uint64_t& count);
  static Result cut(int to, Rules& rules);

  std::deque<Piece> pieces_;
  Clock::time_point next_send_{};  // as the rate allows
  bool input_ended_ = false;
  bool output_ended_ = false;
  bool blocked_ = false;   // the sink took less than it was given
  bool draining_ = false;  // to be cut as soon as the sink has what it was given
};

}  // namespace conclave::fault
