// Lines for a reader who may be slow, gone, or asleep: whoever writes them never waits for him.
#pragma once

#include <string>
#include <string_view>

namespace conclave::app {

class Outbox {
 public:
  void add(std::string_view line) { (text_ += line) += '\n'; }

  // Write no more for now: the reader has much to catch up with.
  [[nodiscard]] bool full() const noexcept { return text_.size() > most_waiting; }
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }
  [[nodiscard]] bool closed() const noexcept { return closed_; }

  // For poll(): the descriptor (none any more when it is closed) and the events to wait for.
  [[nodiscard]] int fd() const noexcept;
  [[nodiscard]] short events() const noexcept;

  // After poll() has said that.
  void write(short happened);

  // What is left, as long as somebody reads; at most for that long.
  void finish(int limit_ms);

 private:
  static constexpr std::size_t most_waiting = 65536;

  std::string text_;
  bool closed_ = false;
};

}  // namespace conclave::app
