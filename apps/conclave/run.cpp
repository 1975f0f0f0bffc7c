// Runs a command only while this process leads.
//
// Three processes watch each other. The keeper stands for election and is the command's parent. The
// front is what the user started: it passes signals on. If the front is killed or stopped, the
// keeper ends the command and then gives the place up. If the keeper is, the front and the guardian
// (guardian.hpp) end the command before the lease is over, and before the place is free. None of
// them shares a process group with another or with the command.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <system_error>

#include "apps/conclave/executable.hpp"
#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/family.hpp"
#include "apps/conclave/guardian.hpp"
#include "apps/conclave/keeper.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/signals.hpp"
#include "apps/conclave/verbs.hpp"

namespace conclave::app {
namespace {

// Everything of ours stays out of the command's environment: a URL may hold a password. So does the
// password that libpq would take from there.
std::vector<std::string> environment_for_command(const std::string& url) {
  const bool is_postgres = url.starts_with("postgres");
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view one = *each;
    if (one.starts_with("CONCLAVE_")) continue;
    if (!is_postgres || !one.starts_with("PGPASSWORD=")) all.emplace_back(one);
  }
  return all;
}

[[noreturn]] void be_keeper(const RunArguments& arguments, const ChildSpec& command, int front,
                            const Strangers& strangers, int control, SharedPage& page) {
  ::setpgid(0, 0);  // the terminal's signals come through the front
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  int code = cannot_supervise;
  try {
    const int guardian = start_guardian(front, strangers, page);
    code = keep(arguments, command, {control, guardian}, page);
  } catch (const std::invalid_argument& wrong) {
    complain(wrong.what());
    code = wrong_usage;
  } catch (const std::exception& failure) {
    complain(failure.what());
  }
  std::_Exit(code);
}

class Front {
 public:
  Front(pid_t keeper, const Strangers& strangers, int control, SharedPage& page,
        const Signals& signals)
      : keeper_(keeper),
        descriptor_(static_cast<int>(::syscall(SYS_pidfd_open, keeper, 0))),
        strangers_(strangers),
        control_(control),
        page_(page),
        signals_(signals) {}

  int watch() {
    while (true) {
      page_.front_beat = boot_ns();
      const std::int64_t kill_at = page_.kill_at;
      // The keeper does this by itself, unless it is stopped.
      if (kill_at != 0 && boot_ns() >= kill_at) {
        page_.killed = true;
        kill_family(keeper_, page_.group, keeper_);
      }
      // One that is stopped for ever would keep its place for ever, where a lease never expires.
      const std::int64_t beat = page_.keeper_beat;
      if (silence_.look(beat, page_.lease / 10) > 2 * page_.lease && beat != 0) {
        ::kill(keeper_, SIGKILL);
      }
      wait(kill_at);
      while (const auto signal = signals_.take()) pass_on(*signal);
      int status = 0;
      if (::waitpid(keeper_, &status, WNOHANG) == keeper_) return ended(status);
    }
  }

 private:
  void wait(std::int64_t kill_at) const {
    std::int64_t left = std::max<std::int64_t>(page_.lease / 20, 5'000'000);
    if (kill_at > boot_ns()) left = std::min(left, kill_at - boot_ns());
    const timespec limit{left / 1'000'000'000, left % 1'000'000'000};
    std::array<pollfd, 2> wanted{{{signals_.fd(), POLLIN, 0}, {descriptor_, POLLIN, 0}}};
    ::ppoll(wanted.data(), wanted.size(), &limit, nullptr);
  }

  void pass_on(int signal) const {
    const auto number = static_cast<unsigned char>(signal);
    [[maybe_unused]] const auto written = ::write(control_, &number, 1);
  }

  [[nodiscard]] int ended(int status) const {
    const int guardian = page_.guardian;
    // A keeper that was killed leaves orphans. The guardian keeps the place until they are gone.
    while (WIFSIGNALED(status) && page_.kill_at != 0 &&
           !kill_family(::getpid(), 0, keeper_, {guardian}, strangers_)) {
      const timespec moment{0, 1'000'000};
      ::ppoll(nullptr, 0, &moment, nullptr);
    }
    if (guardian > 0) {
      ::kill(guardian, SIGKILL);
      ::waitpid(guardian, nullptr, 0);
    }
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    complain("the process that stood for election was ended by signal " +
             std::to_string(WTERMSIG(status)) + "; the command was ended, too");
    return cannot_supervise;
  }

  const pid_t keeper_;
  const int descriptor_;
  const Strangers& strangers_;
  const int control_;
  SharedPage& page_;
  const Signals& signals_;
  Silence silence_;
};

}  // namespace

int run(const RunArguments& arguments) {
  const auto found = find_executable(arguments.command.front(), std::getenv("PATH"));
  if (const auto* cannot = std::get_if<CannotRun>(&found)) {
    complain(cannot->sentence);
    return cannot->exit_code;
  }
  const ChildSpec command{std::get<std::string>(found), arguments.command,
                          environment_for_command(arguments.candidate.store.url)};
  const Signals signals{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
  SharedPage& page = make_shared_page();
  std::array<int, 2> control{};
  if (::pipe2(control.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::system_error(errno, std::generic_category(), "a pipe could not be made");
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t front = ::getpid();
  // `sh -c 'helper & exec conclave run ...'` gives us children that are not ours to end.
  const Strangers strangers = descendants_of(front);
  const pid_t keeper = ::fork();
  if (keeper < 0) throw std::system_error(errno, std::generic_category(), "fork failed");
  if (keeper == 0) {
    ::close(control[1]);
    be_keeper(arguments, command, front, strangers, control[0], page);
  }
  ::close(control[0]);
  return Front(keeper, strangers, control[1], page, signals).watch();
}

}  // namespace conclave::app
