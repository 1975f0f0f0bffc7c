// The file store's hand-over without the library: two processes, one lock, one write of the term.
// With a sync for each term, which a minimal client needs to survive a power failure; or without.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <thread>

#include <conclave/file.hpp>

#include "apps/conclave/bench.hpp"
#include "apps/conclave/clock.hpp"
#include "apps/conclave/joiner.hpp"
#include "apps/conclave/output.hpp"

namespace conclave::app {
namespace {

using namespace std::chrono_literals;

enum class Sync { no, yes };

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// Takes the lock, waiting for it, and writes the term.
int take(const std::string& path, Sync sync) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) fail(path);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  while (::fcntl(descriptor, F_OFD_SETLKW, &lock) != 0) {
    if (errno != EINTR) fail(path);
  }
  static constexpr std::array<char, 8192> slot{};
  if (::pwrite(descriptor, slot.data(), slot.size(), 0) < 0) fail(path);
  if (sync == Sync::yes && ::fdatasync(descriptor) != 0) fail(path);
  return descriptor;
}

// A process that takes the lock, says when it has it, and lets go when it is told to.
class RawHolder {
 public:
  RawHolder(const std::string& path, Sync sync) {
    std::array<int, 2> said{};
    std::array<int, 2> told{};
    if (::pipe2(said.data(), O_CLOEXEC) != 0 || ::pipe2(told.data(), O_CLOEXEC) != 0) fail("pipe");
    pid_ = ::fork();
    if (pid_ < 0) fail("fork");
    if (pid_ == 0) live(path, sync, said[1], told[0]);
    ::close(said[1]);
    ::close(told[0]);
    said_ = said[0];
    told_ = told[1];
  }
  ~RawHolder() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(said_);
    ::close(told_);
  }
  RawHolder(const RawHolder&) = delete;
  RawHolder& operator=(const RawHolder&) = delete;

  // When it got the lock, or when it let go.
  [[nodiscard]] Instant hear() const {
    Instant at;
    if (::read(said_, &at, sizeof at) != sizeof at) throw std::runtime_error("a raw client died");
    return at;
  }
  void let_go() const { [[maybe_unused]] const auto written = ::write(told_, "x", 1); }
  [[nodiscard]] int pid() const noexcept { return pid_; }

 private:
  // Whatever happens, it must not unwind the stack of its parent.
  [[noreturn]] static void live(const std::string& path, Sync sync, int said, int told) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      hold(path, sync, said, told);
    } catch (const std::exception& failure) {
      complain(failure.what());
    }
    ::_exit(0);
  }

  static void hold(const std::string& path, Sync sync, int said, int told) {
    const int lock = take(path, sync);
    Instant now = boot_now();
    char word = 0;
    [[maybe_unused]] auto done = ::write(said, &now, sizeof now);
    done = ::read(told, &word, 1);
    now = boot_now();
    done = ::pwrite(lock, "released", 8, 0);
    ::close(lock);
    done = ::write(said, &now, sizeof now);
  }

  int pid_ = -1;
  int said_ = -1;
  int told_ = -1;
};

class RawFile final : public RawClient {
 public:
  RawFile(const std::string& folder, Sync sync)
      : path_(folder + "/conclave-bench-raw-" + std::to_string(::getpid())), sync_(sync) {}
  ~RawFile() override { ::unlink(path_.c_str()); }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  double hand_over_us() override {
    return between([](const RawHolder& holder) {
      holder.let_go();
      return holder.hear();
    });
  }

  double crash_us() override {
    return between([](const RawHolder& holder) {
      const Instant killed = boot_now();
      ::kill(holder.pid(), SIGKILL);
      return killed;
    });
  }

  double first_us() override {
    const Instant begun = boot_now();
    const int lock = take(path_, sync_);
    const Instant taken = boot_now();
    ::close(lock);
    return micros(taken - begun);
  }

 private:
  template <typename End>
  double between(End end) {
    const RawHolder holder(path_, sync_);
    static_cast<void>(holder.hear());
    const RawHolder waiter(path_, sync_);
    std::this_thread::sleep_for(5ms);  // until it waits in the kernel; nobody can tell when
    const Instant begun = end(holder);
    return micros(waiter.hear() - begun);
  }

  const std::string path_;
  const Sync sync_;
};

// "a%20b" is "a b".
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

}  // namespace

RawClients make_raw_clients(const std::string& url) {
  if (!url.starts_with("file:")) return {};
  std::string folder = url.substr(5, url.find('?') - 5);
  if (folder.starts_with("//")) folder.erase(0, folder.find('/', 2));
  folder = folder.empty() ? default_file_directory() : unescaped(folder);
  return {std::make_unique<RawFile>(folder, Sync::yes),
          std::make_unique<RawFile>(folder, Sync::no)};
}

}  // namespace conclave::app
