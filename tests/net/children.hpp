// Child processes for the tests of fork().
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "net/forking.hpp"
#include "net/waiting.hpp"

namespace conclave::net {

// A child process that runs `body` and exits with 0 when that says true.
class Child {
 public:
  explicit Child(const std::function<bool()>& body) : process_(::fork()) {
    if (process_ == 0) ::_exit(body() ? 0 : 1);
    EXPECT_GT(process_, 0);
  }
  ~Child() { static_cast<void>(succeeds()); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits for it. One that hangs is killed.
  [[nodiscard]] bool succeeds() {
    const auto limit = std::chrono::steady_clock::now() + hang_guard;
    while (process_ > 0) {
      if (::waitpid(process_, &status_, WNOHANG) == process_) process_ = -1;
      if (process_ > 0 && std::chrono::steady_clock::now() > limit) {
        ADD_FAILURE() << "the child hangs";
        ::kill(process_, SIGKILL);
        ::waitpid(std::exchange(process_, -1), &status_, 0);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
  }

 private:
  pid_t process_;
  int status_ = -1;
};

inline bool child_says(const std::function<bool()>& body) { return Child(body).succeeds(); }

// A pipe that a child waits at, so that it lives as long as the test wants.
class Gate {
 public:
  Gate() { EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0); }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  [[nodiscard]] bool wait_in_child() const {
    ::close(ends_[1]);
    char nothing = 0;
    return ::read(ends_[0], &nothing, 1) == 0;
  }
  void open() {
    for (int& end : ends_) {
      if (end >= 0) ::close(std::exchange(end, -1));
    }
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

class Forks : public ::testing::Test {
 protected:
  void SetUp() override { CONCLAVE_SKIP_WHERE_FORKS_HANG(); }
};

}  // namespace conclave::net
