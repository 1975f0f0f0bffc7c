// What the tests of the runtime share: waiting for events, stores in real and in manual time, and
// executors that tell where they run.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <conclave/candidate.hpp>
#include <conclave/loop.hpp>
#include <conclave/memory.hpp>
#include <conclave/testing/faulty_store.hpp>
#include <conclave/testing/manual_executor.hpp>

namespace conclave::rig {

using namespace std::chrono_literals;
using testing::FaultyStore;
using testing::ManualClock;
using testing::ManualExecutor;

// How long a test waits for what has to happen. Nothing is measured by it: who waits that long
// hangs.
inline constexpr Duration hang_guard = 30s;

// Takes events off the queue until one of that kind comes. Empty when none comes.
std::optional<Event> await(EventQueue& events, EventKind kind);

// All that are there now.
std::vector<Event> drain(EventQueue& events);

// The kinds of events as one line of words, without those that come with time: extended.
std::string story(const std::vector<Event>& events);

// Whether elected and lost alternate, each with its own term, beginning with elected.
bool alternates(const std::vector<Event>& events);

// Something that happens once, and who waits for it.
class Signal {
 public:
  void set();
  [[nodiscard]] bool is_set() const;
  [[nodiscard]] bool wait() const;  // false: it hangs

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool set_ = false;
};

// Waits for a token, which fires on a thread of its own. False: it hangs.
[[nodiscard]] bool fires(const std::stop_token& token);

// A value that grows, and who waits until it has.
class Count {
 public:
  void add();
  [[nodiscard]] int value() const;
  [[nodiscard]] bool reach(int value) const;  // false: it hangs

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  int value_ = 0;
};

// One space in memory, and any number of store objects on it, each with a loop of its own.
class World {
 public:
  [[nodiscard]] std::shared_ptr<Store> store(Duration lease = 3s);
  [[nodiscard]] std::shared_ptr<FaultyStore> faulty_store(Duration lease = 3s);

  // Every store reads this clock instead of its loop's, from now on.
  void read(const Clock& clock) { clock_ = &clock; }

 private:
  std::shared_ptr<MemorySpace> space_ = make_memory_space();
  const Clock* clock_ = nullptr;
};

// The same store, and a signal when the last pointer to it is gone.
[[nodiscard]] std::shared_ptr<Store> telling(std::shared_ptr<Store> store, Signal& gone);

// The same in manual time: nothing happens until a test says so. User code has a desk of its own.
class ManualWorld {
 public:
  [[nodiscard]] std::shared_ptr<FaultyStore> store(Duration lease = 3s);

  // Everything that is due now, on the loop and on the desk.
  void settle();
  // The same while time passes.
  void pass(Duration time);
  // Stops a candidate, so that it may be destroyed. A store that was in trouble has to be healed.
  void stop(Candidate& candidate);

  ManualClock clock{Instant{1h}};
  ManualExecutor loop{clock};
  std::shared_ptr<ManualExecutor> desk = std::make_shared<ManualExecutor>(clock);
  std::shared_ptr<MemorySpace> space = make_memory_space();

 private:
  [[nodiscard]] std::optional<Instant> next_due() const;
};

// An executor with one thread of its own. Ends when it is destroyed; what is left is dropped.
class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor() = default;
  void post(Task task) override;
  void post_at(Instant when, Task task) override;  // whenever it is
  [[nodiscard]] std::thread::id id() const { return thread_.get_id(); }
  [[nodiscard]] int ran() const;

 private:
  void run(const std::stop_token& stop);

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Task> tasks_;
  int ran_ = 0;
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

// Keeps one until nobody else does: the last who lets go of it must not be its own thread.
class Host {
 public:
  Host() = default;
  ~Host() {
    while (executor.use_count() > 1) std::this_thread::yield();
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  std::shared_ptr<ThreadExecutor> executor = std::make_shared<ThreadExecutor>();
};

}  // namespace conclave::rig
