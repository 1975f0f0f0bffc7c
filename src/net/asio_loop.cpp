#include "net/asio_loop.hpp"

#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <future>
#include <system_error>

#include "net/signals_blocked.hpp"

namespace conclave::net {
namespace {

constexpr auto later = [](const auto& a, const auto& b) {
  return a.when != b.when ? a.when > b.when : a.sequence > b.sequence;
};

int make_timer() {
  const int descriptor = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (descriptor < 0) {
    throw std::system_error(errno, std::generic_category(), "a loop could not make its timer");
  }
  return descriptor;
}

}  // namespace

AsioLoop::AsioLoop() : core_(std::make_shared<Core>()) {
  core_->timer.assign(make_timer());
  core_->wait_for_timer();
  const SignalsBlocked while_it_starts;
  thread_ = std::thread([core = core_] { run(core); });
  ::pthread_setname_np(thread_.native_handle(), "conclave-loop");
}

AsioLoop::~AsioLoop() {
  if (fork_.in_child()) {  // nobody to join, and no lock that could be trusted
    // Not detach(): the child may have given that thread's place to one of its own.
    leave_alone(std::move(thread_));
    leave_alone(std::move(core_));
    return;
  }
  {
    const std::scoped_lock lock(core_->mutex);
    core_->over = true;
  }
  core_->context.stop();
  if (runs_here()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

bool AsioLoop::runs_here() const noexcept { return std::this_thread::get_id() == thread_.get_id(); }

void AsioLoop::run(const std::shared_ptr<Core>& core) {
  const auto work = boost::asio::make_work_guard(core->context);
  core->context.run();
  // What is left is dropped here. It may post more while it goes: that is dropped at once.
  std::vector<Task> ready;
  std::vector<Timer> timers;
  const std::scoped_lock lock(core->mutex);
  ready.swap(core->ready);
  timers.swap(core->timers);
}

void AsioLoop::post(Task task) {
  if (fork_.in_child()) return leave_alone(std::move(task));
  bool wake = false;
  {
    const std::scoped_lock lock(core_->mutex);
    if (core_->over) return;
    core_->ready.push_back(std::move(task));
    wake = !std::exchange(core_->draining, true);
  }
  if (wake) boost::asio::post(core_->context, [core = core_.get()] { core->run_ready(); });
}

void AsioLoop::post_at(Instant when, Task task) {
  if (fork_.in_child()) return leave_alone(std::move(task));
  const std::scoped_lock lock(core_->mutex);
  if (core_->over) return;
  core_->timers.push_back({when, core_->next_sequence++, std::move(task)});
  std::push_heap(core_->timers.begin(), core_->timers.end(), later);
  if (core_->timers.front().when == when) core_->arm();
}

// Under the lock.
void AsioLoop::Core::arm() {
  if (timers.empty()) return;
  // Zero would disarm it: what is long past is due one nanosecond after the boot.
  const auto at = std::max(timers.front().when.time_since_epoch(), Duration{1});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
  itimerspec spec{};
  spec.it_value.tv_sec = seconds.count();
  spec.it_value.tv_nsec = (at - seconds).count();
  ::timerfd_settime(timer.native_handle(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

void AsioLoop::Core::run_ready() {
  std::vector<Task> tasks;
  {
    const std::scoped_lock lock(mutex);
    draining = false;
    tasks.swap(ready);
  }
  for (Task& task : tasks) {
    if (context.stopped()) return;
    std::exchange(task, {})();
  }
}

void AsioLoop::Core::wait_for_timer() {
  timer.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [this](const boost::system::error_code& failed) {
                     if (failed) return;
                     std::uint64_t expirations = 0;
                     [[maybe_unused]] const auto read =
                         ::read(timer.native_handle(), &expirations, sizeof expirations);
                     run_due();
                     wait_for_timer();
                   });
}

void AsioLoop::Core::run_due() {
  const Instant now = BootClock{}.now();
  std::vector<Timer> due;
  {
    const std::scoped_lock lock(mutex);
    while (!timers.empty() && timers.front().when <= now) {
      std::pop_heap(timers.begin(), timers.end(), later);
      due.push_back(std::move(timers.back()));
      timers.pop_back();
    }
    arm();
  }
  for (Timer& each : due) {
    if (context.stopped()) return;
    std::exchange(each.task, {})();
  }
}

std::shared_ptr<AsioLoop> given_or_new(const std::shared_ptr<Loop>& given) {
  if (given != nullptr) return std::static_pointer_cast<AsioLoop>(given);
  return std::make_shared<AsioLoop>();
}

}  // namespace conclave::net

namespace conclave {

std::shared_ptr<Loop> make_loop() { return std::make_shared<net::AsioLoop>(); }

std::shared_ptr<Store> keep_with_loop(std::shared_ptr<Loop> loop, std::shared_ptr<Store> store) {
  Store* const plain = store.get();
  return {plain, [loop = std::move(loop), store = std::move(store)](Store*) mutable {
            if (loop->in_forked_child()) return net::leave_alone(std::move(store));
            if (loop->runs_here()) return store.reset();
            std::promise<void> destroyed;
            loop->post([&] {
              store.reset();
              destroyed.set_value();
            });
            destroyed.get_future().wait();
          }};
}

}  // namespace conclave
