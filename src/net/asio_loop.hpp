// The loop that stores run on: Asio's, with timers on CLOCK_BOOTTIME.
//
// Asio's own timers stand still in suspend. A timer descriptor on CLOCK_BOOTTIME does not, and is
// one for all tasks, however many.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <conclave/loop.hpp>

#include "net/boot_clock.hpp"
#include "net/fork.hpp"

namespace conclave::net {

class AsioLoop final : public Loop {
 public:
  CONCLAVE_API AsioLoop();
  CONCLAVE_API ~AsioLoop() override;
  AsioLoop(const AsioLoop&) = delete;
  AsioLoop& operator=(const AsioLoop&) = delete;

  CONCLAVE_API void post(Task task) override;
  CONCLAVE_API void post_at(Instant when, Task task) override;
  [[nodiscard]] const Clock& clock() const noexcept override { return clock_; }
  [[nodiscard]] CONCLAVE_API bool runs_here() const noexcept override;

  [[nodiscard]] bool in_forked_child() const noexcept override { return fork_.in_child(); }

  // Where streams and descriptors of a store live.
  [[nodiscard]] boost::asio::io_context& context() noexcept { return core_->context; }

 private:
  struct Timer {
    Instant when;
    std::uint64_t sequence = 0;  // of one time: in the order in which they came
    Task task;
  };

  // Outlives the loop object when that is destroyed on its own thread.
  struct Core {
    boost::asio::io_context context{1};
    boost::asio::posix::stream_descriptor timer{context};
    std::mutex mutex;
    std::vector<Task> ready;
    std::vector<Timer> timers;  // a heap, the earliest first
    std::uint64_t next_sequence = 0;
    bool draining = false;  // a drain is on its way
    bool over = false;

    void arm();
    void run_ready();
    void run_due();
    void wait_for_timer();
  };

  static void run(const std::shared_ptr<Core>& core);

  BootClock clock_;
  std::shared_ptr<Core> core_;
  ForkMark fork_;
  std::thread thread_;
};

// The loop that a store was given, or one of its own. make_loop() makes no other ones.
[[nodiscard]] CONCLAVE_API std::shared_ptr<AsioLoop> given_or_new(
    const std::shared_ptr<Loop>& given);

}  // namespace conclave::net
