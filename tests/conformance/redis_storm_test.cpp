// A storm (see storm.hpp) over a Redis whose data, clock and memory are struck, too.
#include "conformance/redis_faults.hpp"
#include "conformance/storm.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;

class StormFixture : private OwnRedis, public RedisFixture {
 public:
  StormFixture() : RedisFixture(own, 400ms) {}
};

std::unique_ptr<StoreFixture> make_storm_rig() { return std::make_unique<StormFixture>(); }

class RedisStorm : public Storm<RedisFaults> {
 protected:
  void disturb_the_server() override {
    const std::size_t what = below(10);
    note("disturbance " + std::to_string(what) + " of the server");
    switch (what) {
      case 0:
        server().command({"CLIENT", "KILL", "TYPE", "normal"});
        server().command({"CLIENT", "KILL", "TYPE", "pubsub"});
        break;
      case 1: server().command({"SCRIPT", "FLUSH"}); break;
      case 2: server().command({"CONFIG", "SET", "maxmemory", "1"}); break;
      case 3:
      case 4: step_clock(); break;
      case 5: save(); break;
      default: break;
    }
  }

  void trouble_the_server(Contender& leader) override {
    const std::size_t what = below(4);
    note("trouble " + std::to_string(what));
    switch (what) {
      case 0: wipe_under(leader); break;
      case 1: pause_server(); break;
      default: restart_server(leader); break;
    }
  }

  void heal_the_server() override { server().command({"CONFIG", "SET", "maxmemory", "0"}); }

  void save() { stale_copy_ = server().save_rdb(); }

 private:
  // Then no data may be lost: who has seen no term would get one by that clock.
  [[nodiscard]] bool is_behind() const { return behind_ > 0ns; }

  // Forward, or back for a while. A restart and a clock that is set forward within one lease are
  // not promised to be survived, nor one that is set back and forward again within four.
  void step_clock() {
    const std::chrono::nanoseconds far = below(2) == 0 ? lease() / 2 : 1h;
    const std::chrono::nanoseconds step = is_behind() ? behind_ : below(2) == 0 ? far : -far;
    behind_ = step < 0ns ? -step : 0ns;
    one_at_a_time([&] { server().step_clock(step); }, is_behind() ? 4 : 1);
    note("clock stepped by " + std::to_string(step.count()));
  }

  // The wipe itself costs nothing; the crash that follows does.
  void wipe_under(Contender& leader) {
    calm_the_network();
    EXPECT_TRUE(until_settled());
    if (!leader.member->leads()) return;
    if (is_behind()) return replace(leader);
    const std::size_t renewed = leader.member->count<core::Extended>();
    note("flush");
    server().command({"FLUSHALL"});
    EXPECT_TRUE(run_until([&] {
      return !leader.member->leads() || leader.member->count<core::Extended>() > renewed;
    }));
    replace(leader);
  }

  void pause_server() {
    server().pause();
    run_for(lease() * static_cast<int>(5 + below(10)) / 5);
    server().resume();
  }

  void restart_server(Contender& leader) {
    const std::size_t how = is_behind() ? 2 : below(4);
    note("restart " + std::to_string(how));
    one_at_a_time([&] {
      switch (how) {
        case 0: server().restart_without_data(); break;
        case 1: server().restore_rdb(stale_copy_); break;
        default: server().restart_with_data(); break;
      }
    });
    note("restarted");
    if (leader.member->leads()) replace(leader);
  }

  std::string stale_copy_;
  std::chrono::nanoseconds behind_{};  // how far the server's clock was set back
};

TEST_P(RedisStorm, R13_AtMostOneLeaderThroughManyFailovers) {
  save();
  run_storm();
}

INSTANTIATE_TEST_SUITE_P(redis, RedisStorm, ::testing::Values(MakeFixture{make_storm_rig}),
                         [](const auto&) { return "redis"; });

}  // namespace
}  // namespace conclave::conformance
