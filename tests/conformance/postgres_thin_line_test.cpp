// A thin line between a candidate and PostgreSQL: all that is said arrives, but slowly.
#include "conformance/postgres_faults.hpp"

namespace conclave::conformance {
namespace {

using fault::Direction;
using fault::TcpGate;

void make_thin(TcpGate& gate) {
  gate.throttle(Direction::to_client, 100'000);
  gate.throttle(Direction::to_target, 100'000);
}

class PostgresThinLine : public PostgresFaults {};

TEST_P(PostgresThinLine, CostsALeaderNothing) {
  TcpGate gate(server().port());
  const Member leader = join_behind(gate, "a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join("b");
  make_thin(gate);
  ASSERT_TRUE(until_renewed(leader));
  expect_kept(leader, term);
  leader->stop();
  EXPECT_TRUE(until_leads(follower));
}

// The statements are long, and sent in full on a new connection.
TEST_P(PostgresThinLine, IsEnoughToJoinAndToTakeOver) {
  TcpGate gate(server().port());
  make_thin(gate);
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = join_behind(gate, "b");
  ASSERT_EQ(follower->role(), Role::follower) << trouble_of(follower);
  leader->stop();
  ASSERT_TRUE(until_leads(follower));
  ASSERT_TRUE(until_renewed(follower));
}

INSTANTIATE_TEST_SUITE_P(advisory, PostgresThinLine,
                         ::testing::Values(MakeFixture{make_advisory<PostgresFixture>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresThinLine,
                         ::testing::Values(MakeFixture{make_lease<PostgresFixture>}),
                         [](const auto&) { return "lease"; });
INSTANTIATE_TEST_SUITE_P(strict, PostgresThinLine,
                         ::testing::Values(MakeFixture{make_strict<PostgresFixture>}),
                         [](const auto&) { return "strict"; });

}  // namespace
}  // namespace conclave::conformance
