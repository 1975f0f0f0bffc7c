#include "runtime/pool.hpp"

#include <signal.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "net/boot_clock.hpp"
#include "runtime/patience.hpp"

namespace conclave::runtime {
namespace {

// A callback that blocks costs a thread. Enough that a stop token still fires while many block.
constexpr std::size_t most_threads = 32;
constexpr auto idle_life = std::chrono::seconds{10};

}  // namespace

struct Pool::Core {
  // Under the lock: somebody has to be there for each ready task, and one for the timers.
  [[nodiscard]] bool needs_thread() const {
    const std::size_t wanted = ready.size() + (timers.empty() ? 0 : 1);
    return !over && idle < wanted && threads < most_threads;
  }

  static void add_thread(const std::shared_ptr<Core>& core) {
    core->threads += 1;
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    // A thread's own faults: blocked, they would bypass the application's crash handler.
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) {
      ::sigdelset(&all, fault);
    }
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([core] { core->work(); }).detach();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void work() {
    here = this;
    std::unique_lock lock(mutex);
    while (!over && wait_for_task(lock)) {
      Task task = std::move(ready.front());
      ready.pop_front();
      lock.unlock();
      task();
      task = {};
      lock.lock();
    }
    threads -= 1;
    changed.notify_all();
  }

  // False when there was nothing to do for a long time.
  bool wait_for_task(std::unique_lock<std::mutex>& lock) {
    const auto bored = std::chrono::steady_clock::now() + idle_life;
    idle += 1;
    while (!over && ready.empty()) {
      if (timers.empty()) {
        const bool waited = changed.wait_until(lock, bored) == std::cv_status::timeout;
        if (waited && ready.empty() && timers.empty()) break;
        continue;
      }
      const Duration wait = timers.begin()->first - clock.now();
      if (wait > Duration::zero()) {
        changed.wait_for(lock, bounded(wait));
      } else {
        ready.push_back(std::move(timers.extract(timers.begin()).mapped()));
      }
    }
    idle -= 1;
    return !over && !ready.empty();
  }

  static thread_local const Core* here;  // the pool that this thread belongs to

  net::BootClock clock;  // of its own: a pool may outlive the store that it was made for
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> ready;
  std::multimap<Instant, Task> timers;
  std::size_t threads = 0;
  std::size_t idle = 0;
  bool over = false;
};

thread_local const Pool::Core* Pool::Core::here = nullptr;

Pool::Pool() : core_(std::make_shared<Core>()) {}

Pool::~Pool() {
  std::deque<Task> ready;  // dropped after the lock
  std::multimap<Instant, Task> timers;
  const std::size_t own = Core::here == core_.get() ? 1 : 0;
  std::unique_lock lock(core_->mutex);
  core_->over = true;
  ready.swap(core_->ready);
  timers.swap(core_->timers);
  core_->changed.notify_all();
  core_->changed.wait(lock, [&] { return core_->threads == own; });
}

void Pool::post(Task task) {
  const std::scoped_lock lock(core_->mutex);
  if (core_->over) return;
  core_->ready.push_back(std::move(task));
  if (core_->needs_thread()) Core::add_thread(core_);
  core_->changed.notify_one();
}

void Pool::post_at(Instant when, Task task) {
  const std::scoped_lock lock(core_->mutex);
  if (core_->over) return;
  core_->timers.emplace(when, std::move(task));
  if (core_->needs_thread()) Core::add_thread(core_);
  core_->changed.notify_one();
}

}  // namespace conclave::runtime
