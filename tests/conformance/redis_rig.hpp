// A real Redis for the tests of the store, and a fixture in real time on it.
#pragma once

#include <thread>

#include <conclave/redis.hpp>

#include "conformance/real_time_fixture.hpp"
#include "servers/redis_server.hpp"

namespace conclave::conformance {

// One server for all tests of a process: its age matters, and a new one is none.
inline servers::RedisServer& shared_redis() {
  static servers::RedisServer server;
  return server;
}

class RedisFixture : public RealTimeFixture {
 public:
  static constexpr Duration usual_lease = std::chrono::milliseconds{600};

  // The server has decided for some leases before the first test.
  explicit RedisFixture(servers::RedisServer& server = shared_redis(), Duration lease = usual_lease)
      : server_(server), lease_(lease) {
    server_.command({"FLUSHALL"});
    wait_until_settled(2 * lease);
  }
  std::shared_ptr<Store> make_store(Duration lease) override {
    return make_redis_store(options(lease));
  }
  [[nodiscard]] RedisOptions options(Duration lease) const {
    RedisOptions options;
    options.port = server_.port();
    options.lease = lease;
    options.loop = loop();
    return options;
  }
  [[nodiscard]] Duration lease() const override { return lease_; }
  [[nodiscard]] bool has(Ability ability) const override {
    return ability != Ability::stands_still && ability != Ability::tells_renewals;
  }

  void wipe() override { server_.command({"FLUSHALL"}); }

  [[nodiscard]] servers::RedisServer& server() const noexcept { return server_; }

 private:
  // It tells its age in whole seconds, and the last one may have just begun.
  void wait_until_settled(Duration age) const {
    const auto wanted = std::chrono::ceil<std::chrono::seconds>(age) + std::chrono::seconds{1};
    while (std::stol(server_.info("server", "uptime_in_seconds")) < wanted.count()) {
      std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
  }

  servers::RedisServer& server_;
  const Duration lease_;
};

}  // namespace conclave::conformance
