// A fixture in real time, on a loop with a thread of its own: for stores with a disk or a server.
#pragma once

#include <condition_variable>
#include <future>
#include <mutex>

#include <conclave/loop.hpp>

#include "conformance/store_fixture.hpp"

namespace conclave::conformance {

class RealTimeFixture : public StoreFixture {
 public:
  RealTimeFixture() = default;
  ~RealTimeFixture() override { drain(); }
  RealTimeFixture(const RealTimeFixture&) = delete;
  RealTimeFixture& operator=(const RealTimeFixture&) = delete;

  [[nodiscard]] Instant now() const override { return loop_->clock().now(); }

  bool run_until(const std::function<bool()>& done) override {
    return wait_until(now() + hang_guard, done);
  }
  void run_for(Duration duration) override {
    const Instant until = now() + duration;
    static_cast<void>(wait_until(until + hang_guard, [&] { return now() >= until; }));
  }
  void changed() override {
    const std::scoped_lock lock(mutex_);
    changes_ += 1;
    condition_.notify_all();
  }

  [[nodiscard]] const std::shared_ptr<Loop>& loop() const { return loop_; }

 protected:
  // Whoever was told something last is done with it; the loop may outlive us for a moment.
  void drain() {
    std::promise<void> quiet;
    loop_->post([&] { quiet.set_value(); });
    quiet.get_future().wait();
  }

 private:
  static constexpr Duration hang_guard = std::chrono::seconds{30};

  // The question is asked on the loop, after every change; some also depend on the clock alone.
  bool wait_until(Instant limit, const std::function<bool()>& done) {
    while (true) {
      const std::uint64_t seen = changes();
      std::promise<bool> answer;
      loop_->post([&] { answer.set_value(done()); });
      if (answer.get_future().get()) return true;
      if (now() >= limit) return false;
      std::unique_lock lock(mutex_);
      condition_.wait_for(lock, std::chrono::milliseconds{5}, [&] { return changes_ != seen; });
    }
  }
  std::uint64_t changes() {
    const std::scoped_lock lock(mutex_);
    return changes_;
  }

  const std::shared_ptr<Loop> loop_ = make_loop();
  std::mutex mutex_;
  std::condition_variable condition_;
  std::uint64_t changes_ = 0;
};

}  // namespace conclave::conformance
