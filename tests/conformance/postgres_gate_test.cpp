// A bad network between a candidate and PostgreSQL.
#include "conformance/postgres_faults.hpp"

namespace conclave::conformance {
namespace {

using fault::Direction;
using fault::TcpGate;

class PostgresGate : public PostgresFaults {
 protected:
  // Whoever is cut off loses its term by its own clock, the other one leads, and what was held back
  // in the network meanwhile changes nothing.
  void expect_takeover(const std::function<void(TcpGate&)>& fault) {
    TcpGate gate(server().port());
    const Member leader = join_behind(gate, "a");
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    const Member follower = join("b");
    ASSERT_TRUE(until_renewed(leader));
    fault(gate);
    ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; }));
    ASSERT_TRUE(until_leads(follower));
    EXPECT_GT(follower->term(), term);
    const Term next = follower->term();
    gate.pass();
    ASSERT_TRUE(until_follows(leader, "b"));
    run_for(lease());
    EXPECT_TRUE(follower->leads());
    EXPECT_EQ(follower->term(), next);
    follower->stop();
    EXPECT_TRUE(until_leads(leader));
  }

  void expect_no_loss(const std::function<void(TcpGate&)>& fault) {
    TcpGate gate(server().port());
    const Member leader = join_behind(gate, "a");
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    const Member follower = join("b");
    ASSERT_TRUE(until_renewed(leader));
    fault(gate);
    ASSERT_TRUE(until_renewed(leader));
    expect_kept(leader, term);
    leader->stop();
    EXPECT_TRUE(until_leads(follower));
  }

  // With its session the leader loses its lock, and knows it.
  void expect_a_new_term(const std::function<void(TcpGate&)>& fault) {
    TcpGate gate(server().port());
    const Member leader = join_behind(gate, "a");
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    const Member follower = join("b");
    ASSERT_TRUE(until_renewed(leader));
    fault(gate);
    ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; }));
    ASSERT_TRUE(until_somebody_leads(leader, follower));
    const Member& now = leader->leads() ? leader : follower;
    EXPECT_GT(now->term(), term);
  }
};

TEST_P(PostgresGate, P01_ABlackholeEndsTheTermByTheOwnClock) {
  expect_takeover([](TcpGate& gate) { gate.blackhole(); });
}

TEST_P(PostgresGate, P01_RepliesThatAreHeldBackEndTheTermByTheOwnClock) {
  expect_takeover([](TcpGate& gate) { gate.blackhole(Direction::to_client); });
}

TEST_P(PostgresGate, P01_RequestsThatAreHeldBackEndTheTermByTheOwnClock) {
  expect_takeover([](TcpGate& gate) { gate.blackhole(Direction::to_target); });
}

TEST_P(PostgresGate, T03_RefusedConnectionsEndTheTerm) {
  expect_takeover([](TcpGate& gate) {
    gate.refuse();
    gate.reset_all();
  });
}

TEST_P(PostgresGate, T04_TheFaultMovesAndTheRolesSwap) {
  TcpGate gate(server().port());
  TcpGate other_gate(server().port());
  const Member first = join_behind(gate, "a");
  ASSERT_TRUE(until_leads(first));
  const Member second = join_behind(other_gate, "b");
  gate.blackhole();
  ASSERT_TRUE(until_leads(second));
  gate.pass();
  ASSERT_TRUE(until_follows(first, "b"));
  run_for(lease());
  const std::size_t errors = first->count<core::Failed>();
  other_gate.blackhole();
  ASSERT_TRUE(until_leads(first));
  EXPECT_FALSE(second->leads());
  EXPECT_EQ(first->count<core::Failed>(), errors) << trouble_of(first);
  EXPECT_EQ(leaders(), (std::vector<std::string>{"a", "b", "a"}));
}

TEST_P(PostgresGate, ADelayWithinTheRequestTimeOutCostsNothing) {
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(lease() / 8);
  expect_no_loss([&](TcpGate& gate) { gate.delay(timeout / 4); });
}

TEST_P(PostgresGate, AShortBlackholeCostsNothing) {
  expect_no_loss([&](TcpGate& gate) {
    gate.blackhole();
    run_for(lease() / 4);
    gate.pass();
  });
}

TEST_P(PostgresGate, AResetConnectionCostsTheTermOnlyWhereItIsTheLock) {
  const auto reset = [](TcpGate& gate) { gate.reset_all(); };
  outlives_session() ? expect_no_loss(reset) : expect_a_new_term(reset);
}

TEST_P(PostgresGate, T10_RefusedAtTheStartIsReportedAndRetried) {
  TcpGate gate(server().port());
  gate.refuse();
  const Member member = make_on(connect_through(gate), "a");
  member->start();
  ASSERT_TRUE(run_until([&] { return member->count<core::Failed>() >= 3; }));
  EXPECT_EQ(member->last<core::Failed>()->error.code, ErrorCode::unavailable);
  gate.pass();
  EXPECT_TRUE(until_leads(member));
}

TEST_P(PostgresGate, T10_StopReturnsInABlackhole) {
  TcpGate gate(server().port());
  const Member leader = join_behind(gate, "a");
  ASSERT_TRUE(until_leads(leader));
  gate.blackhole();
  leader->stop();
  EXPECT_TRUE(until_stopped(leader));
}

TEST_P(PostgresGate, AFollowerWithHalfOpenConnectionsStillTakesOver) {
  TcpGate gate(server().port());
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = join_behind(gate, "b");
  gate.half_open();
  leader->stop();
  EXPECT_TRUE(until_leads(follower));
}

INSTANTIATE_TEST_SUITE_P(advisory, PostgresGate,
                         ::testing::Values(MakeFixture{make_advisory<PostgresFixture>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresGate,
                         ::testing::Values(MakeFixture{make_lease<PostgresFixture>}),
                         [](const auto&) { return "lease"; });
INSTANTIATE_TEST_SUITE_P(strict, PostgresGate,
                         ::testing::Values(MakeFixture{make_strict<PostgresFixture>}),
                         [](const auto&) { return "strict"; });
INSTANTIATE_TEST_SUITE_P(locks, PostgresGate,
                         ::testing::Values(MakeFixture{make_locks<OwnPostgresFixture>}),
                         [](const auto&) { return "locks"; });

}  // namespace
}  // namespace conclave::conformance
