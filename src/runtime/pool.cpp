#include "runtime/pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "net/boot_clock.hpp"
#include "net/signals_blocked.hpp"
#include "runtime/patience.hpp"

namespace conclave::runtime {
namespace {

constexpr auto idle_life = std::chrono::seconds{10};

}  // namespace

void make_thread(std::function<void()> body) {
  const net::SignalsBlocked meanwhile;
  std::thread(std::move(body)).detach();
}

struct Pool::Core : std::enable_shared_from_this<Core> {
  explicit Core(Staff of) : staff(std::move(of)) {}

  // Under the lock: somebody has to be there for each ready task, and one for the timers.
  [[nodiscard]] bool lacks_thread() const {
    const std::size_t wanted = ready.size() + (timers.empty() ? 0 : 1);
    return !over && idle < wanted && threads < staff.most;
  }

  // Under the lock. False when there is none to be had: then the tasks wait.
  bool add_thread() {
    try {
      staff.thread([core = shared_from_this()] { core->work(); });
    } catch (const std::system_error&) {
      return false;
    }
    threads += 1;
    idle += 1;
    return true;
  }

  // Something has come, or a while has passed since it came.
  void serve() {
    {
      const std::scoped_lock lock(mutex);
      if (lacks_thread() && threads < staff.at_once) add_thread();
      changed.notify_one();
      // Threads may end their tasks, or the process may get more of them. Who waits for that must
      // not depend on a task that comes by.
      if (!lacks_thread() || !staff.later || std::exchange(watched, true)) return;
      seen = begun;
    }
    // Not under the lock: the last who knows of this pool may be what it asks.
    staff.later([weak = weak_from_this()] {
      if (const auto core = weak.lock()) core->look_again();
    });
  }

  // When no task has begun meanwhile, all who are here may be blocked for long: twice as many.
  void look_again() {
    {
      const std::scoped_lock lock(mutex);
      watched = false;
      std::size_t more = begun == seen ? std::max<std::size_t>(threads, 1) : 0;
      while (more > 0 && lacks_thread() && add_thread()) more -= 1;
    }
    serve();
  }

  void work() {
    here = this;
    std::unique_lock lock(mutex);
    while (wait_for_task(lock)) {
      Task task = std::move(ready.front());
      ready.pop_front();
      begun += 1;
      idle -= 1;
      lock.unlock();
      task();
      task = {};
      lock.lock();
      idle += 1;
    }
    idle -= 1;
    threads -= 1;
    changed.notify_all();
  }

  // False when it is over, or when there was nothing to do for a long time.
  bool wait_for_task(std::unique_lock<std::mutex>& lock) {
    const auto bored = std::chrono::steady_clock::now() + idle_life;
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
    return !over && !ready.empty();
  }

  static thread_local const Core* here;  // the pool that this thread belongs to

  const Staff staff;
  net::BootClock clock;  // of its own: a pool may outlive the store that it was made for
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> ready;
  std::multimap<Instant, Task> timers;
  std::size_t threads = 0;
  std::size_t idle = 0;     // of them; those that have yet to begin included
  std::uint64_t begun = 0;  // tasks
  std::uint64_t seen = 0;   // of them, when it was last looked at
  bool watched = false;     // it will be looked at again
  bool over = false;
};

thread_local const Pool::Core* Pool::Core::here = nullptr;

Pool::Pool(Staff staff) : core_(std::make_shared<Core>(std::move(staff))) {}

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
  const std::shared_ptr<Core> core = core_;  // the task may be what destroys the pool
  {
    const std::scoped_lock lock(core->mutex);
    if (core->over) return;
    core->ready.push_back(std::move(task));
  }
  core->serve();
}

void Pool::post_at(Instant when, Task task) {
  const std::shared_ptr<Core> core = core_;
  {
    const std::scoped_lock lock(core->mutex);
    if (core->over) return;
    core->timers.emplace(when, std::move(task));
  }
  core->serve();
}

}  // namespace conclave::runtime
