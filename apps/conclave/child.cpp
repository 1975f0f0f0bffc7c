#include "apps/conclave/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/family.hpp"

namespace conclave::app {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& each : texts) all.push_back(const_cast<char*>(each.c_str()));
  all.push_back(nullptr);
  return all;
}

// After fork(), in the child: nothing but what a signal handler might do.
[[noreturn]] void become(const ChildSpec& spec, char* const* arguments, char* const* environment,
                         pid_t parent, int report, int cgroup) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(cannot_supervise);
  if (cgroup >= 0) {
    [[maybe_unused]] const auto moved = ::write(cgroup, "0", 1);
  }
  ::signal(SIGPIPE, SIG_DFL);  // ours; what nohup ignores stays ignored
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(spec.path.c_str(), arguments, environment);
  const int why = errno;
  [[maybe_unused]] const auto told = ::write(report, &why, sizeof why);
  ::_exit(not_executable);
}

}  // namespace

Child::Child(const ChildSpec& spec) {
  const auto arguments = pointers(spec.arguments);
  const auto environment = pointers(spec.environment);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "a pipe could not be made");
  }
  const pid_t parent = ::getpid();
  const std::string cgroup = make_cgroup(parent);
  const int procs =
      cgroup.empty() ? -1 : ::open((cgroup + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
  pid_ = ::fork();
  if (pid_ == 0) become(spec, arguments.data(), environment.data(), parent, report[1], procs);
  const int failure = errno;
  ::close(report[1]);
  if (procs >= 0) ::close(procs);
  int why = pid_ < 0 ? failure : 0;
  if (pid_ > 0) {
    ::setpgid(pid_, pid_);  // whichever of the two comes first
    if (::read(report[0], &why, sizeof why) != sizeof why) why = 0;
  }
  ::close(report[0]);
  if (why != 0) {
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    remove_cgroup(::getpid());
    throw std::system_error(why, std::generic_category(), spec.path);
  }
  descriptor_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
}

Child::~Child() {
  end_family();
  if (descriptor_ >= 0) ::close(descriptor_);
  remove_cgroup(::getpid());
}

void Child::send(int signal) const {
  if (!exit_code_) ::kill(-pid_, signal);
}

std::optional<int> Child::ended() {
  if (exit_code_) return exit_code_;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid != pid_) {
    return std::nullopt;
  }
  exit_code_ = info.si_code == CLD_EXITED ? info.si_status : by_signal + info.si_status;
  return exit_code_;
}

void Child::end_family() {
  (void)ended();
  while (true) {
    kill_family(::getpid(), waited_for_ ? 0 : pid_, ::getpid());
    const pid_t gone = ::waitpid(-1, nullptr, 0);  // orphans come to us: we are their reaper
    waited_for_ = waited_for_ || gone == pid_;
    if (gone < 0 && errno != EINTR) return;
  }
}

}  // namespace conclave::app
