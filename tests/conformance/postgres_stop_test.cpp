// R06: whoever has stopped does not lead, however often and early it was stopped.
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

INSTANTIATE_TEST_SUITE_P(postgres, PostgresStop,
                         ::testing::Values(PostgresMode::advisory, PostgresMode::lease),
                         [](const auto& mode) {
                           return mode.param == PostgresMode::lease ? "lease" : "advisory";
                         });

}  // namespace
}  // namespace conclave::conformance
