// The file store's hand-over without the library: two processes, one lock, one write of the term.
// With a sync for each term, which a minimal client needs to survive a power failure; or without.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <thread>

#include <conclave/file.hpp>

#include "apps/conclave/bench.hpp"
#include "apps/conclave/bench_raw_process.hpp"
#include "apps/conclave/clock.hpp"

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

// Takes the lock, says when it has it, and lets go when it is told to.
void hold(const std::string& path, Sync sync, const RawProcess::Parent& parent) {
  const int lock = take(path, sync);
  parent.say(boot_now());
  parent.wait();
  const Instant released = boot_now();
  [[maybe_unused]] const auto done = ::pwrite(lock, "released", 8, 0);
  ::close(lock);
  parent.say(released);
}

class RawFile final : public RawClient {
 public:
  RawFile(const std::string& folder, Sync sync)
      : path_(folder + "/conclave-bench-raw-" + std::to_string(::getpid())), sync_(sync) {}
  ~RawFile() override { ::unlink(path_.c_str()); }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  double hand_over_us() override {
    return between([](RawProcess& holder) {
      holder.tell();
      return holder.hear();
    });
  }

  // The kernel takes the lock back: there is no lease that has to end.
  Crash crash() override {
    return {between([](RawProcess& holder) {
      const Instant killed = boot_now();
      holder.kill();
      return killed;
    })};
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
    const auto life = [this](const RawProcess::Parent& parent) { hold(path_, sync_, parent); };
    RawProcess holder(life);
    static_cast<void>(holder.hear());
    const RawProcess waiter(life);
    std::this_thread::sleep_for(5ms);  // until it waits in the kernel; nobody can tell when
    const Instant begun = end(holder);
    return micros(waiter.hear() - begun);
  }

  const std::string path_;
  const Sync sync_;
};

}  // namespace

RawClients make_raw_file(const std::string& url) {
  std::string folder = url.substr(5, url.find('?') - 5);
  if (folder.starts_with("//")) folder.erase(0, folder.find('/', 2));
  folder = folder.empty() ? default_file_directory() : unescaped(folder);
  return {std::make_unique<RawFile>(folder, Sync::yes), std::make_unique<RawFile>(folder, Sync::no),
          ""};
}

}  // namespace conclave::app
