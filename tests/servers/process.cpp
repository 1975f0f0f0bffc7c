#include "servers/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <future>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string_view>
#include <system_error>
#include <thread>

namespace conclave::servers {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (auto& each : texts) all.push_back(each.data());
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> all = added;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view here = *each;
    const auto name = here.substr(0, here.find('=') + 1);
    if (std::ranges::none_of(added, [&](const auto& own) { return own.starts_with(name); })) {
      all.emplace_back(here);
    }
  }
  return all;
}

// Everything that the child needs, made before the fork: a child of a process with threads must not
// allocate.
struct Image {
  char* const* arguments;
  char* const* environment;
  int input;
  int output;
  pid_t parent;
};

[[noreturn]] void become(const Image& image) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != image.parent) ::_exit(127);  // it died before it could be watched
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(image.input, STDIN_FILENO);
  ::dup2(image.output, STDOUT_FILENO);
  ::dup2(image.output, STDERR_FILENO);
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  ::execve(image.arguments[0], image.arguments, image.environment);
  constexpr std::string_view complaint = "cannot be executed\n";
  static_cast<void>(::write(STDERR_FILENO, complaint.data(), complaint.size()) < 0);
  ::_exit(127);
}

// The kernel kills the child when the thread that forked it ends. A test may start a server in a
// thread of its own that ends before the server is to, so one thread forks for all of them.
class Launcher {
 public:
  static Launcher& of_this_process() {
    static Launcher launcher;
    return launcher;
  }

  pid_t fork(const Image& image) {
    std::packaged_task<pid_t()> task([&image] {
      const pid_t child = ::fork();
      if (child == 0) become(image);
      if (child < 0) fail("fork");
      return child;
    });
    auto forked = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
    return forked.get();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !tasks_.empty(); })) {
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::packaged_task<pid_t()>> tasks_;
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

// An open file, closed with its owner.
class File {
 public:
  File(const std::string& path, int flags) : descriptor_(::open(path.c_str(), flags, 0600)) {
    if (descriptor_ < 0) fail(path);
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

pid_t launched(const Launch& launch) {
  auto arguments = launch.arguments;
  auto environment = environment_with(launch.environment);
  const auto argument_pointers = pointers(arguments);
  const auto environment_pointers = pointers(environment);
  const File input("/dev/null", O_RDONLY | O_CLOEXEC);
  const File output(launch.output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC);
  return Launcher::of_this_process().fork({argument_pointers.data(), environment_pointers.data(),
                                           input.get(), output.get(), ::getpid()});
}

}  // namespace

// By number: the C library's own pidfd_open() is declared for C only in some versions.
Process::Process(const Launch& launch)
    : pid_(launched(launch)), handle_(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))) {
  if (handle_ < 0) {
    const int error = errno;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    throw std::system_error(error, std::generic_category(), "pidfd_open");
  }
}

Process::~Process() {
  if (!status_) {
    int status = 0;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
  }
  ::close(handle_);
}

std::optional<int> Process::ended() {
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_;
}

int Process::wait_for_end() {
  if (!status_) {
    pollfd end{handle_, POLLIN, 0};
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
    if (::poll(&end, 1, static_cast<int>(limit.count())) == 0) {
      throw std::runtime_error("process " + std::to_string(pid_) + " does not end");
    }
    int status = 0;
    if (::waitpid(pid_, &status, 0) != pid_) fail("waitpid");
    status_ = status;
  }
  return *status_;
}

void Process::kill() {
  if (status_) return;
  ::kill(pid_, SIGKILL);
  wait_for_end();
}

void Process::pause() {
  if (paused_) return;
  await(WUNTRACED, "pause");
  paused_ = true;
}

void Process::resume() {
  if (!paused_) return;
  await(WCONTINUED, "resume");
  paused_ = false;
}

// Neither signal can be caught or ignored, so this does not hang.
void Process::await(int options, const char* what) {
  int status = 0;
  if (!status_ && ::kill(pid_, options == WUNTRACED ? SIGSTOP : SIGCONT) == 0 &&
      ::waitpid(pid_, &status, options) == pid_) {
    if (WIFSTOPPED(status) || WIFCONTINUED(status)) return;
    status_ = status;
    if (options == WCONTINUED) return;  // it woke to end, as somebody had told it before
  }
  throw std::runtime_error(std::string("cannot ") + what + " process " + std::to_string(pid_) +
                           ": it has ended");
}

void run(const Launch& launch) {
  Process process(launch);
  const int status = process.wait_for_end();
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error(launch.arguments.at(0) + " failed: " + text_of(launch.output));
  }
}

std::string text_of(const std::string& file, std::size_t from) {
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(from));
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace conclave::servers
