#include "servers/standstill.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "servers/process.hpp"

namespace conclave::servers {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto glance = 1ms;  // between two looks at a process that cannot tell us

struct Status {
  char state = '\0';  // as /proc has it: T stands still; 0 when there is no such process
  pid_t parent = 0;
};

Status status_of(pid_t process) {
  const auto text = text_of("/proc/" + std::to_string(process) + "/stat");
  const auto name_ends = text.rfind(')');  // the name may have anything in it
  if (name_ends == std::string::npos) return {};
  Status status;
  std::istringstream(text.substr(name_ends + 1)) >> status.state >> status.parent;
  return status;
}

bool runs(const Status& status) {
  return status.state != '\0' && status.state != 'Z' && status.state != 'X';
}

}  // namespace

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& each : std::filesystem::directory_iterator("/proc")) {
    const auto name = each.path().filename().string();
    pid_t process = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    const auto status = status_of(process);
    if (runs(status) && status.parent == parent) children.push_back(process);
  }
  return children;
}

bool alive(pid_t process) { return runs(status_of(process)); }

Standstill::Standstill(std::vector<pid_t> processes) : processes_(std::move(processes)) {
  watch();
  for (const auto each : processes_) ::kill(each, SIGSTOP);
  const auto limit = Clock::now() + patience;
  for (const auto each : processes_) {
    for (auto now = status_of(each); runs(now) && now.state != 'T'; now = status_of(each)) {
      if (Clock::now() > limit) throw std::runtime_error("a process does not stand still");
      std::this_thread::sleep_for(glance);
    }
  }
}

Standstill::~Standstill() {
  for (const auto each : processes_) ::kill(each, SIGCONT);
  ::kill(watcher_, SIGKILL);
  ::waitpid(watcher_, nullptr, 0);
  ::close(life_);
}

bool Standstill::holds(pid_t process) const {
  return std::ranges::find(processes_, process) != processes_.end();
}

// A child of a process with threads: it does nothing but call the kernel.
void Standstill::watch() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  watcher_ = ::fork();
  if (watcher_ == 0) {
    sigset_t all;  // an interrupt from the terminal is for the test; this one acts after it
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    ::dup2(ends[0], STDIN_FILENO);
    ::close_range(1, ~0U, 0);
    char nothing = 0;
    while (::read(STDIN_FILENO, &nothing, 1) < 0) {
    }
    for (const auto each : processes_) ::kill(each, SIGKILL);
    ::_exit(0);
  }
  const int error = errno;
  ::close(ends[0]);
  life_ = ends[1];
  if (watcher_ < 0) throw std::system_error(error, std::generic_category(), "fork");
}

// By handles: a number may be another process a moment later.
void kill_all(const std::vector<pid_t>& processes) {
  std::vector<pollfd> handles;
  for (const auto each : processes) {
    const int handle = static_cast<int>(::syscall(SYS_pidfd_open, each, 0));
    if (handle >= 0) handles.push_back({handle, POLLIN, 0});
  }
  for (const auto& each : handles) {
    ::syscall(SYS_pidfd_send_signal, each.fd, SIGKILL, nullptr, 0);
  }
  bool gone = true;
  for (auto& each : handles) {
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
    gone = ::poll(&each, 1, static_cast<int>(limit.count())) == 1 && gone;
    ::close(each.fd);
  }
  if (!gone) throw std::runtime_error("a killed process does not end");
}

}  // namespace conclave::servers
