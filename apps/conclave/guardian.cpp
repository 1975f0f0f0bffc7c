#include "apps/conclave/guardian.hpp"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace conclave::app {
namespace {

constexpr std::int64_t second = 1'000'000'000;

bool wait_for_end_of(int process, std::int64_t ns) {
  const timespec limit{ns / second, ns % second};
  pollfd wanted{process, POLLIN, 0};
  return ::ppoll(&wanted, 1, &limit, nullptr) > 0;
}

[[noreturn]] void guard(int front, int keeper, int keeper_fd, const Strangers& strangers,
                        SharedPage& page) {
  const int self = ::getpid();
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, "conclave-guard");
  sigset_t all;  // only what cannot be refused ends it
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  while (true) {
    const std::int64_t kill_at = page.kill_at;
    const std::int64_t left = kill_at - boot_ns();
    if (kill_at != 0 && left <= 0) {
      page.killed = true;
      kill_family(keeper, page.group, keeper);
    }
    const std::int64_t tick = std::max<std::int64_t>(page.lease / 20, 5'000'000);
    if (wait_for_end_of(keeper_fd, kill_at != 0 && left > 0 ? std::min(left, tick) : tick)) break;
  }
  // The orphans have gone to the front, if it lives. A keeper that ended by itself has left none.
  while (page.kill_at != 0 && !kill_family(front, page.group, keeper, {self, keeper}, strangers)) {
    wait_for_end_of(-1, 1'000'000);
  }
  remove_cgroup(keeper);
  ::_exit(0);
}

int descriptor_of(int pid) {
  const int descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), "pidfd_open failed");
  return descriptor;
}

}  // namespace

int start_guardian(int front, const Strangers& strangers, SharedPage& page) {
  const int keeper = ::getpid();
  const int keeper_fd = descriptor_of(keeper);
  // fork() cannot share descriptors. A child of the front, so that the keeper's children are the
  // command's family and nobody else.
  const auto pid =
      static_cast<int>(::syscall(SYS_clone, CLONE_FILES | CLONE_PARENT | SIGCHLD, 0, 0, 0, 0));
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "clone failed");
  if (pid == 0) guard(front, keeper, keeper_fd, strangers, page);
  page.guardian = pid;
  return descriptor_of(pid);
}

}  // namespace conclave::app
