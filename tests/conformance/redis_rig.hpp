// A real Redis for the tests of the store, and a fixture in real time on it.
#pragma once

#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>

#include <conclave/redis.hpp>

#include "conformance/store_fixture.hpp"
#include "servers/redis_server.hpp"

namespace conclave::conformance {

// One server for all tests of a process: its age matters, and a new one is none.
inline servers::RedisServer& shared_redis() {
  static servers::RedisServer server;
  return server;
}

class RedisFixture : public StoreFixture {
 public:
  static constexpr Duration usual_lease = std::chrono::milliseconds{600};

  // The server has decided for some leases before the first test.
  explicit RedisFixture(servers::RedisServer& server = shared_redis(), Duration lease = usual_lease)
      : server_(server), lease_(lease) {
    server_.command({"FLUSHALL"});
    wait_until_settled(2 * lease);
  }
  ~RedisFixture() override {
    // Whoever was told something last is done with it; the loop may outlive us for a moment.
    std::promise<void> quiet;
    loop_->post([&] { quiet.set_value(); });
    quiet.get_future().wait();
  }
  RedisFixture(const RedisFixture&) = delete;
  RedisFixture& operator=(const RedisFixture&) = delete;

  std::shared_ptr<Store> make_store(Duration lease) override {
    return make_redis_store(options(lease));
  }
  [[nodiscard]] RedisOptions options(Duration lease) const {
    RedisOptions options;
    options.port = server_.port();
    options.lease = lease;
    options.loop = loop_;
    return options;
  }
  [[nodiscard]] Duration lease() const override { return lease_; }
  [[nodiscard]] Instant now() const override { return loop_->clock().now(); }
  [[nodiscard]] bool has(Ability ability) const override {
    return ability != Ability::stands_still && ability != Ability::tells_renewals;
  }

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
  void wipe() override { server_.command({"FLUSHALL"}); }

  [[nodiscard]] servers::RedisServer& server() const noexcept { return server_; }

 protected:
  [[nodiscard]] const std::shared_ptr<Loop>& loop() const { return loop_; }

 private:
  static constexpr Duration hang_guard = std::chrono::seconds{30};

  // It tells its age in whole seconds, and the last one may have just begun.
  void wait_until_settled(Duration age) const {
    const auto wanted = std::chrono::ceil<std::chrono::seconds>(age) + std::chrono::seconds{1};
    while (std::stol(server_.info("server", "uptime_in_seconds")) < wanted.count()) {
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
  }

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

  servers::RedisServer& server_;
  const Duration lease_;
  const std::shared_ptr<Loop> loop_ = make_loop();
  std::mutex mutex_;
  std::condition_variable condition_;
  std::uint64_t changes_ = 0;
};

}  // namespace conclave::conformance
