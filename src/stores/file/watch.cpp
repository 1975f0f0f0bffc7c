#include "stores/file/watch.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstring>
#include <vector>

namespace conclave::file {

struct Watch::Core final : std::enable_shared_from_this<Core> {
  Core(net::AsioLoop& loop, Listener listens)
      : listener(std::move(listens)), descriptor(loop.context()) {
    const net::NoFork meanwhile;
    const int opened = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (opened < 0) return;
    net::guard_from_fork(opened);
    descriptor.assign(opened);
  }

  void wait() {
    descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                          [self = weak_from_this()](const boost::system::error_code& failed) {
                            const auto core = self.lock();
                            if (failed || core == nullptr || !core->listener) return;
                            core->read_all();
                            if (core->listener) core->wait();
                          });
  }

  void read_all() {
    alignas(inotify_event) std::array<char, 16384> buffer{};
    while (listener) {
      const auto size = ::read(descriptor.native_handle(), buffer.data(), buffer.size());
      if (size <= 0) return;
      std::vector<WatchEvent> events;
      for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
        inotify_event event{};
        std::memcpy(&event, buffer.data() + at, sizeof event);
        const char* const name = buffer.data() + at + sizeof event;
        at += sizeof event + event.len;
        events.push_back(told(event, event.len > 0 ? std::string_view(name) : std::string_view()));
      }
      listener(events);
    }
  }

  [[nodiscard]] WatchEvent told(const inotify_event& event, std::string_view name) {
    WatchEvent told;
    told.watch = (event.mask & IN_Q_OVERFLOW) != 0 ? -1 : event.wd;
    told.closed = (event.mask & IN_CLOSE_WRITE) != 0;
    told.forgotten = (event.mask & (IN_IGNORED | IN_MOVE_SELF)) != 0;
    // What has moved is not what stands at its path any more.
    if ((event.mask & IN_MOVE_SELF) != 0) {
      ::inotify_rm_watch(descriptor.native_handle(), event.wd);
    }
    told.name = name;
    return told;
  }

  void end() {
    listener = nullptr;
    if (!descriptor.is_open()) return;
    const int opened = descriptor.release();
    if (net::release_from_fork(opened)) ::close(opened);
  }

  Listener listener;
  boost::asio::posix::stream_descriptor descriptor;
};

Watch::Watch(net::AsioLoop& loop, Listener listener)
    : core_(std::make_shared<Core>(loop, std::move(listener))) {
  if (works()) core_->wait();
}

Watch::~Watch() { core_->end(); }

bool Watch::works() const noexcept { return core_->descriptor.is_open(); }

int Watch::add_file(const std::string& path) {
  if (!works()) return -1;
  constexpr std::uint32_t mask =
      IN_CLOSE_WRITE | IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_DONT_FOLLOW;
  return ::inotify_add_watch(core_->descriptor.native_handle(), path.c_str(), mask);
}

int Watch::add_folder(const std::string& path) {
  if (!works()) return -1;
  constexpr std::uint32_t mask = IN_CREATE | IN_MOVED_TO | IN_MOVE_SELF | IN_ONLYDIR;
  return ::inotify_add_watch(core_->descriptor.native_handle(), path.c_str(), mask);
}

void Watch::remove(int watch) {
  if (works() && watch >= 0) ::inotify_rm_watch(core_->descriptor.native_handle(), watch);
}

}  // namespace conclave::file
