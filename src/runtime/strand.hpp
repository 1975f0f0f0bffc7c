// Runs the user code of one candidate: one task after another, on somebody else's threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include <conclave/executor.hpp>

#include "net/fork.hpp"

namespace conclave::runtime {

class Strand final : public Executor, public std::enable_shared_from_this<Strand> {
 public:
  // What is posted beside the line runs on `aside`. Without executors it is closed.
  Strand(std::shared_ptr<Executor> under, std::shared_ptr<Executor> aside)
      : under_(std::move(under)), aside_(std::move(aside)), closed_(!under_) {}

  // Both do nothing in a forked child.
  void post(Task task) override;
  void post_at(Instant when, Task task) override;

  // Not in line, and elsewhere: what it should stop may run in the line, and what runs under it may
  // be blocked.
  void post_beside(Task task);

  // Whether the caller is one of its tasks in line; or any of its tasks.
  [[nodiscard]] bool runs_here() const noexcept;
  [[nodiscard]] bool is_user_code_here() const noexcept;

  // Waits until nothing runs and nothing is left to run. False when the time has passed first.
  bool wait_idle(std::chrono::steady_clock::time_point until);

  // Between the two no task in line begins: they wait. After a release() that says so somebody has
  // to call go_on(), with no lock held: it calls the executor.
  void hold();
  [[nodiscard]] bool release();
  void go_on();
  [[nodiscard]] bool is_held() const;

  // Drops those that have not begun, and all that come later.
  void close();

  [[nodiscard]] bool in_forked_child() const noexcept { return fork_.in_child(); }

 private:
  void run();
  void run_beside(const Task& task);

  const std::shared_ptr<Executor> under_;
  const std::shared_ptr<Executor> aside_;
  const net::ForkMark fork_;
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::deque<Task> tasks_;
  std::size_t beside_ = 0;
  bool running_ = false;
  bool held_ = false;
  bool closed_ = false;
};

}  // namespace conclave::runtime
