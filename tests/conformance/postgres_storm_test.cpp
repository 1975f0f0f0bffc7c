// A storm (see storm.hpp) over a PostgreSQL whose sessions, tables, clock and data are struck, too.
#include "conformance/postgres_faults.hpp"
#include "conformance/storm.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;

class StormFixture : public OldServerFixture {
 public:
  explicit StormFixture(PostgresMode mode, bool strict = false, bool tables = true)
      : OldServerFixture(mode, strict, tables, 600ms) {}

 private:
  [[nodiscard]] Duration patience(Duration) const override { return {}; }
};

std::unique_ptr<StoreFixture> make_locks() {
  return std::make_unique<StormFixture>(PostgresMode::advisory, false, false);
}

class PostgresStorm : public Storm<PostgresFaults> {
 protected:
  void disturb_the_server() override {
    const std::size_t what = below(8);
    note("disturbance " + std::to_string(what) + " of the server");
    switch (what) {
      case 0: end_sessions(); break;
      case 1: step_clock(); break;
      case 2: server().exec("vacuum"); break;
      default: break;
    }
  }

  void trouble_the_server(Contender& leader) override {
    const std::size_t what = below(4);
    note("trouble " + std::to_string(what));
    switch (what) {
      case 0: pause_server(); break;
      case 1: restart_server(leader, [&] { server().restart(); }); break;
      case 2:
        restart_server(leader, [&] {
          server().stop_immediately();
          server().start();
        });
        break;
      default: replace(leader); break;
    }
  }

  [[nodiscard]] bool tells_names() override { return rig().options(lease()).tables; }

 private:
  // By a lock alone: who hears first that a session is over, its owner or who waits for the lock,
  // is not promised.
  [[nodiscard]] bool is_by_lock_alone() {
    const PostgresOptions options = rig().options(lease());
    return options.mode == PostgresMode::advisory && !options.strict;
  }

  void end_sessions() {
    server().exec(
        std::string("select pg_terminate_backend(pid) from pg_stat_activity where "
                    "application_name = 'conclave'") +
        (is_by_lock_alone() ? " and query like '%lock_shared(%' and state = 'active'" : ""));
  }

  // A server that finds itself an hour later ends idle sessions; one that finds itself earlier ends
  // none for as long, so it is set back only where a session is nobody's judge. That, and forward
  // again within four leases, is not promised to be survived.
  void step_clock() {
    if (is_by_lock_alone()) return;
    const bool back = outlives_session() && !is_behind_ && below(2) == 0;
    one_at_a_time([&] { server().step_clock(back ? -1h : 1h); }, back ? 4 : 1);
    is_behind_ = back;
    note(back ? "clock set back" : "clock set forward");
  }

  void pause_server() {
    server().pause();
    run_for(lease() * static_cast<int>(5 + below(10)) / 5);
    server().resume();
  }

  void restart_server(Contender& leader, const std::function<void()>& restart) {
    calm_the_network();
    EXPECT_TRUE(until_settled());
    one_at_a_time(restart);
    if (leader.member->leads()) replace(leader);
  }

  bool is_behind_ = false;
};

TEST_P(PostgresStorm, R13_AtMostOneLeaderThroughManyFailovers) { run_storm(); }

INSTANTIATE_TEST_SUITE_P(advisory, PostgresStorm,
                         ::testing::Values(MakeFixture{make_advisory<StormFixture>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(locks, PostgresStorm, ::testing::Values(MakeFixture{make_locks}),
                         [](const auto&) { return "locks"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresStorm,
                         ::testing::Values(MakeFixture{make_lease<StormFixture>}),
                         [](const auto&) { return "lease"; });
INSTANTIATE_TEST_SUITE_P(strict, PostgresStorm,
                         ::testing::Values(MakeFixture{make_strict<StormFixture>}),
                         [](const auto&) { return "strict"; });

}  // namespace
}  // namespace conclave::conformance
