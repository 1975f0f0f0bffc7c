// An executor that runs nothing until a test says so, and then always in the same order.
//
//   ManualClock clock;
//   ManualExecutor executor(clock);
//   auto store = make_memory_store(make_memory_space(), {.clock = clock, .executor = executor});
//
//   store->campaign(bid, [&](CampaignAnswer answer) { ... });
//   executor.run_ready();  // the answer has come
//   executor.run_for(3s);  // three seconds pass, and everything that was due in them has happened
//
// Nothing sleeps: the clock jumps from one due task to the next. Tasks run by their time, those of
// the same time in the order in which they were handed over.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <conclave/executor.hpp>
#include <conclave/testing/manual_clock.hpp>

namespace conclave::testing {

// Takes tasks from any thread; run it from one at a time. The clock must outlive it. Tasks that
// never ran are destroyed with it.
class ManualExecutor final : public Executor {
 public:
  explicit ManualExecutor(ManualClock& clock) noexcept : clock_(clock) {}

  void post(Task task) override { post_at(Instant::min(), std::move(task)); }

  // A time that has passed counts as now, so that no task overtakes one that is ready.
  void post_at(Instant when, Task task) override {
    const std::scoped_lock lock(mutex_);
    tasks_.emplace(Key{std::max(when, clock_.now()), next_sequence_++}, std::move(task));
  }

  // When the next task is due; nothing when there is none. It may be in the past.
  [[nodiscard]] std::optional<Instant> next_due() const {
    const std::scoped_lock lock(mutex_);
    if (tasks_.empty()) return std::nullopt;
    return tasks_.begin()->first.first;
  }

  // Runs everything that is due now, also what is handed over meanwhile, and says how many tasks
  // that were. The clock stands still.
  std::size_t run_ready() { return run_until(clock_.now()); }

  // Moves the clock to `limit` and runs everything that is due on the way.
  std::size_t run_until(Instant limit) {
    std::size_t count = 0;
    while (run_one(limit)) ++count;
    if (clock_.now() < limit) clock_.set(limit);
    return count;
  }

  std::size_t run_for(Duration duration) { return run_until(clock_.now() + duration); }

  // Runs task after task until `done` says true. False when that did not happen within `limit` of
  // the manual clock's time, or when nothing is left to run.
  bool run_until(const std::function<bool()>& done, Duration limit) {
    const Instant last = clock_.now() + limit;
    while (!done()) {
      if (!run_one(last)) return false;
    }
    return true;
  }

 private:
  using Key = std::pair<Instant, std::uint64_t>;

  // Runs the next task unless it is due after `limit`.
  bool run_one(Instant limit) {
    Task task;
    {
      const std::scoped_lock lock(mutex_);
      if (tasks_.empty() || tasks_.begin()->first.first > limit) return false;
      auto next = tasks_.extract(tasks_.begin());
      if (clock_.now() < next.key().first) clock_.set(next.key().first);
      task = std::move(next.mapped());
    }
    task();
    return true;
  }

  ManualClock& clock_;
  mutable std::mutex mutex_;
  std::map<Key, Task> tasks_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace conclave::testing
