#include "apps/conclave/outbox.hpp"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace conclave::app {

int Outbox::fd() const noexcept { return closed_ ? -1 : STDOUT_FILENO; }

// A reader that has gone is told without asking for anything.
short Outbox::events() const noexcept { return static_cast<short>(text_.empty() ? 0 : POLLOUT); }

void Outbox::write(short happened) {
  if (closed_ || happened == 0) return;
  if ((happened & POLLOUT) == 0) {
    closed_ = true;
    return;
  }
  // So much fits into a pipe that has room at all.
  const std::size_t size = std::min<std::size_t>(text_.size(), PIPE_BUF);
  const auto written = ::write(STDOUT_FILENO, text_.data(), size);
  if (written >= 0) {
    text_.erase(0, static_cast<std::size_t>(written));
  } else if (errno != EAGAIN && errno != EINTR) {
    closed_ = true;
  }
}

void Outbox::finish(int limit_ms) {
  while (!empty() && !closed_) {
    pollfd wanted{fd(), events(), 0};
    if (::poll(&wanted, 1, limit_ms) <= 0) closed_ = true;
    write(wanted.revents);
  }
}

}  // namespace conclave::app
