#include "net/descriptor.hpp"

#include <fcntl.h>

#include <boost/asio/post.hpp>
#include <utility>

namespace conclave::net {

// Outlives the Watch that is destroyed in a handler. Whatever waits holds it weakly.
struct Watch::Core : std::enable_shared_from_this<Core> {
  using Waiter = boost::asio::posix::stream_descriptor;

  // One direction. Asio may have queued an answer that nobody waits for any more.
  struct Side {
    Handler handler{};
    std::uint64_t waiting = 0;  // in which registration; none when zero
  };

  explicit Core(AsioLoop& runs_on) : loop(runs_on), waiter(runs_on.context()) {}
  ~Core() { forget(); }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Without its guard while the call lasts: a number that the call closes may have another owner
  // before we hear of it. No child can come meanwhile.
  void guarded(const Call& call) {
    const NoFork meanwhile;
    if (descriptor >= 0) release_from_fork(descriptor);
    descriptor = call();
    if (descriptor >= 0) guard_from_fork(descriptor);
  }

  void replace(const Call& call) {
    forget();
    guarded(call);
    if (descriptor < 0) return;
    registration += 1;
    duplicate = Descriptor::opened_by([this] { return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0); });
    boost::system::error_code unwatched;
    waiter.assign(duplicate ? duplicate.get() : descriptor, unwatched);
    // A descriptor that cannot be watched, such as a regular file, can always be used.
    is_watched = !unwatched;
  }

  void use(const Call& call) {
    guarded(call);
    if (descriptor < 0) forget();
  }

  void forget() {
    if (waiter.is_open()) waiter.release();
    duplicate.reset();
    for (Side* side : {&reading, &writing}) *side = {};
  }

  void when(Side& side, Waiter::wait_type ready, Handler handler) {
    if (descriptor < 0) return;
    side.handler = std::move(handler);
    if (side.waiting == registration) return;
    side.waiting = registration;
    auto told = [&side, mine = registration, self = weak_from_this()](const auto& cancelled) {
      const auto core = self.lock();
      if (cancelled || core == nullptr || core->over || side.waiting != mine) return;
      side.waiting = 0;
      if (const auto call = std::exchange(side.handler, {})) call();
    };
    if (is_watched) return waiter.async_wait(ready, std::move(told));
    boost::asio::post(loop.context(), [told] { told(boost::system::error_code{}); });
  }

  AsioLoop& loop;
  int descriptor = -1;
  // Of the same file, with a number of our own: that of the owner may be another thread's when we
  // hear that it was closed. Where no number is left, that of the owner has to do.
  Descriptor duplicate{};
  Waiter waiter;  // borrows it
  bool is_watched = false;
  bool over = false;
  std::uint64_t registration = 0;
  Side reading{};
  Side writing{};
};

Watch::Watch(AsioLoop& loop) : core_(std::make_shared<Core>(loop)) {}

Watch::~Watch() {
  if (fork_.in_child()) {
    leave_alone(std::move(core_));
    return;
  }
  core_->over = true;
  core_->forget();
  if (core_->descriptor >= 0) release_from_fork(core_->descriptor);
}

void Watch::replace(const Call& call) {
  if (!fork_.in_child()) core_->replace(call);
}

void Watch::use(const Call& call) {
  if (!fork_.in_child()) core_->use(call);
}

void Watch::when_readable(Handler handler) {
  if (fork_.in_child()) return;
  core_->when(core_->reading, Core::Waiter::wait_read, std::move(handler));
}

void Watch::when_writable(Handler handler) {
  if (fork_.in_child()) return;
  core_->when(core_->writing, Core::Waiter::wait_write, std::move(handler));
}

bool Watch::has_descriptor() const { return !fork_.in_child() && core_->descriptor >= 0; }

}  // namespace conclave::net
