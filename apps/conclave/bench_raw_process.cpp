#include "apps/conclave/bench_raw_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "apps/conclave/clock.hpp"
#include "apps/conclave/output.hpp"

namespace conclave::app {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

[[noreturn]] void live(const std::function<void(const RawProcess::Parent&)>& life,
                       const RawProcess::Parent& parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    life(parent);
  } catch (const std::exception& failure) {
    complain(failure.what());
  }
  ::_exit(0);
}

}  // namespace

void RawProcess::Parent::say(Instant at) const {
  if (::write(said_, &at, sizeof at) != sizeof at) throw std::runtime_error("nobody listens");
}

void RawProcess::Parent::wait() const {
  char word = 0;
  if (::read(told_, &word, 1) != 1) throw std::runtime_error("nobody is left to tell");
}

RawProcess::RawProcess(const std::function<void(const Parent&)>& life) {
  std::array<int, 2> said{};
  std::array<int, 2> told{};
  if (::pipe2(said.data(), O_CLOEXEC) != 0 || ::pipe2(told.data(), O_CLOEXEC) != 0) fail("pipe");
  pid_ = ::fork();
  if (pid_ < 0) fail("fork");
  if (pid_ == 0) live(life, {said[1], told[0]});
  ::close(said[1]);
  ::close(told[0]);
  said_ = said[0];
  told_ = told[1];
}

RawProcess::~RawProcess() {
  kill();
  ::close(said_);
  ::close(told_);
}

Instant RawProcess::hear() const {
  Instant at;
  if (::read(said_, &at, sizeof at) != sizeof at) throw std::runtime_error("a raw client died");
  return at;
}

void RawProcess::tell() const { [[maybe_unused]] const auto written = ::write(told_, "x", 1); }

void RawProcess::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
}

RawPassers::RawPassers(const Life& life) {
  for (std::size_t i = 0; i < passers_.size(); ++i) {
    passers_.at(i) = std::make_unique<RawProcess>(
        [&life, i](const RawProcess::Parent& parent) { life(i, parent); });
    static_cast<void>(passers_.at(i)->hear());
  }
}

double RawPassers::hand_over_us() {
  const RawProcess& holder = *passers_.at(holder_);
  holder.tell();
  const Instant begun = holder.hear();
  holder_ = quickest_but(holder_);
  return micros(passers_.at(holder_)->hear() - begun);
}

// Who has something to say first.
std::size_t RawPassers::quickest_but(std::size_t holder) const {
  std::array<pollfd, 3> wanted{};
  for (std::size_t i = 0; i < passers_.size(); ++i) {
    wanted.at(i) = {i == holder ? -1 : passers_.at(i)->fd(), POLLIN, 0};
  }
  if (::poll(wanted.data(), wanted.size(), 10'000) <= 0) {
    throw std::runtime_error("nobody took the raw lock");
  }
  const auto found = std::find_if(wanted.begin(), wanted.end(),
                                  [](const pollfd& each) { return each.revents != 0; });
  return static_cast<std::size_t>(found - wanted.begin());
}

void sleep_until(Instant when) {
  const auto since = when.time_since_epoch();
  timespec until{};
  until.tv_sec = std::chrono::floor<std::chrono::seconds>(since).count();
  until.tv_nsec = (since - std::chrono::floor<std::chrono::seconds>(since)).count();
  ::clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &until, nullptr);
}

std::string unescaped(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned code = 0;
    const bool escaped = text[at] == '%' && at + 2 < text.size() &&
                         std::sscanf(text.c_str() + at + 1, "%2x", &code) == 1;
    plain += escaped ? static_cast<char>(code) : text[at];
    if (escaped) at += 2;
  }
  return plain;
}

}  // namespace conclave::app
