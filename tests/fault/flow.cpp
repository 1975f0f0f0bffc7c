#include "fault/flow.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace conclave::fault {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t piece_size = 16384;
constexpr std::size_t most_pieces = 256;  // then the source has to wait, as with TCP
constexpr std::size_t bursts_per_second = 50;

bool only_later() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Flow::Result Flow::read(int from, Clock::time_point now) {
  std::array<char, piece_size> bytes{};
  const auto n = ::recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (n < 0) return only_later() ? Result::fine : Result::broken;
  input_ended_ = n == 0;
  pieces_.push_back({now, std::string(bytes.data(), static_cast<std::size_t>(n))});
  return Result::fine;
}

void Flow::swallow(int from) {
  std::array<char, piece_size> bytes{};
  const auto n = ::recv(from, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (n == 0 || (n < 0 && !only_later())) input_ended_ = true;
}

bool Flow::is_due(const Rules& rules, Clock::time_point now) const {
  return !pieces_.empty() && pieces_.front().read_at + rules.delay <= now &&
         (!rules.rate || next_send_ <= now);
}

Flow::Result Flow::send(int to, Rules& rules, Clock::time_point now, std::uint64_t& count) {
  blocked_ = draining_ = false;
  if (rules.silent || output_ended_) return Result::fine;
  while (is_due(rules, now) && !blocked_ && !draining_) {
    const auto result = send_piece(to, rules, now, count);
    if (result != Result::fine) return result;
  }
  return Result::fine;
}

Flow::Result Flow::send_piece(int to, Rules& rules, Clock::time_point now, std::uint64_t& count) {
  auto& bytes = pieces_.front().bytes;
  auto size = bytes.size();
  if (size == 0) {
    ::shutdown(to, SHUT_WR);
    output_ended_ = true;
    pieces_.pop_front();
    return Result::fine;
  }
  if (rules.rate) size = std::min(size, std::max<std::size_t>(1, *rules.rate / bursts_per_second));
  if (rules.cut_after) size = std::min<std::uint64_t>(size, *rules.cut_after);
  if (size == 0) {
    draining_ = true;
    return cut(to, rules);
  }
  const auto n = ::send(to, bytes.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n < 0 && !only_later()) return Result::broken;
  const auto sent = static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  blocked_ = sent < size;
  count += sent;
  if (rules.cut_after) *rules.cut_after -= sent;
  if (rules.rate) next_send_ = now + std::chrono::nanoseconds(1s) * sent / *rules.rate;
  bytes.erase(0, sent);
  if (bytes.empty()) pieces_.pop_front();
  return Result::fine;
}

// A reset takes along what the sink has not acknowledged yet, so that has to go first.
Flow::Result Flow::cut(int to, Rules& rules) {
  int unacknowledged = 0;
  ::ioctl(to, SIOCOUTQ, &unacknowledged);
  if (unacknowledged > 0) return Result::fine;
  rules.cut_after.reset();
  return Result::cut;
}

bool Flow::wants_input(const Rules& rules) const {
  return !rules.silent && !input_ended_ && pieces_.size() < most_pieces;
}

bool Flow::wants_output(const Rules& rules) const { return blocked_ && !rules.silent; }

Clock::time_point Flow::wakes(const Rules& rules) const {
  if (rules.silent || blocked_ || pieces_.empty()) return Clock::time_point::max();
  if (draining_) return Clock::now() + 1ms;
  const auto due = pieces_.front().read_at + rules.delay;
  return rules.rate ? std::max(due, next_send_) : due;
}

}  // namespace conclave::fault
