// Whoever has stopped does not lead, however often and early it was stopped, and whatever the
// server does meanwhile.
#include <gtest/gtest.h>

#include <thread>

#include <conclave/admin.hpp>
#include <conclave/candidate.hpp>
#include <conclave/postgres.hpp>
#include <conclave/waits.hpp>

#include "servers/postgres_server.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;

constexpr Duration hang_guard = 60s;

class PostgresStop : public ::testing::TestWithParam<PostgresMode> {};

TEST_P(PostgresStop, R06_NeverLeaderAfterStop) {
  const servers::PostgresServer server;
  PostgresOptions options;
  options.url = server.url();
  options.mode = GetParam();
  options.lease = 2s;
  const auto store = make_postgres_store(options);
  Candidate me(store, "election");
  for (int turn = 0; turn < 300; ++turn) {
    me.start();
    // Else the bid is on its way, or was not made yet. Who follows such a one waits for a lease,
    // which is why they come together.
    if (turn % 100 < 60) {
      ASSERT_TRUE(wait_until_leader(me, hang_guard)) << "turn " << turn;
    } else if (turn % 2 == 0) {
      std::this_thread::yield();
    }
    ASSERT_TRUE(me.stop()) << "turn " << turn;
    ASSERT_FALSE(me.is_leader()) << "turn " << turn;
    ASSERT_EQ(me.role(), Role::stopped) << "turn " << turn;
  }
  EXPECT_GE(me.snapshot().counters.terms, 180U);
  const auto left = inspect(*store, "election", hang_guard);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->leader, std::nullopt);
  Candidate next(make_postgres_store(options), "election");
  EXPECT_TRUE(next.lead());
}

TEST_P(PostgresStop, T10_EndsWhileTheServerStandsStill) {
  servers::PostgresServer server;
  PostgresOptions options;
  options.url = server.url();
  options.mode = GetParam();
  options.lease = 2s;
  {
    Candidate leader(make_postgres_store(options), "election");
    Candidate late(make_postgres_store(options), "election");
    leader.start();
    ASSERT_TRUE(wait_until_leader(leader, hang_guard));
    server.pause();
    late.start();
    const auto asked = std::chrono::steady_clock::now();
    EXPECT_TRUE(leader.stop());
    EXPECT_TRUE(late.stop());
    EXPECT_LT(std::chrono::steady_clock::now() - asked, hang_guard / 2);
    EXPECT_FALSE(leader.is_leader());
    EXPECT_EQ(late.role(), Role::stopped);
  }
  server.resume();
  Candidate next(make_postgres_store(options), "election");
  EXPECT_TRUE(next.lead());
}

INSTANTIATE_TEST_SUITE_P(postgres, PostgresStop,
                         ::testing::Values(PostgresMode::advisory, PostgresMode::lease),
                         [](const auto& mode) {
                           return mode.param == PostgresMode::lease ? "lease" : "advisory";
                         });

}  // namespace
}  // namespace conclave::conformance
