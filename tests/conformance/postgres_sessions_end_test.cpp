// What ends all sessions of a server: who leads after it, and from when on.
#include "conformance/postgres_faults.hpp"

namespace conclave::conformance {
namespace {

// Long enough for a restart of the server on a busy machine, while its leader goes on.
class LongLeaseFixture : public OldServerFixture {
 public:
  explicit LongLeaseFixture(PostgresMode mode, bool strict = false, bool tables = true)
      : OldServerFixture(mode, strict, tables, std::chrono::seconds{6}) {}
};

std::unique_ptr<StoreFixture> make_locks() {
  return std::make_unique<LongLeaseFixture>(PostgresMode::advisory, false, false);
}

class PostgresSessionsEnd : public PostgresFaults {
 protected:
  // A trouble that ends all sessions: by a lock the term is lost, by the clock it is kept.
  void expect_survived(const std::function<void()>& trouble) {
    const Member leader = join("a");
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    const Member follower = join("b");
    ASSERT_TRUE(until_renewed(leader));
    const Instant began = now();
    trouble();
    const bool was_short = now() - began < lease() / 3;  // it may not be, on a busy machine
    if (outlives_session() && !was_short) {
      ASSERT_TRUE(until_somebody_leads(leader, follower));
    } else if (outlives_session()) {
      ASSERT_TRUE(until_renewed(leader));
      EXPECT_EQ(leader->count<core::Lost>(), 0U);
      EXPECT_EQ(leader->term(), term);
    } else {
      ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; }));
      ASSERT_TRUE(until_somebody_leads(leader, follower));
      EXPECT_GT((leader->leads() ? leader : follower)->term(), term);
    }
    const Member& now = leader->leads() ? leader : follower;
    const Member& other = leader->leads() ? follower : leader;
    now->stop();
    EXPECT_TRUE(until_leads(other));
  }
  void end_sessions() {
    server().exec(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = "
        "'conclave'");
  }
};

TEST_P(PostgresSessionsEnd, R03_TerminatedSessionsAreReplaced) {
  expect_survived([&] { end_sessions(); });
}

TEST_P(PostgresSessionsEnd, ARestartIsSurvived) {
  expect_survived([&] { server().restart(); });
}

TEST_P(PostgresSessionsEnd, AnImmediateShutdownIsSurvived) {
  expect_survived([&] {
    server().stop_immediately();
    server().start();
  });
}

// Who hears nothing of its session believes in its term until its own deadline, and nobody leads
// before, which the history shows.
class PostgresFrozenLeader : public PostgresSessionsEnd {
 protected:
  void expect_no_early_successor(const std::function<void()>& trouble) {
    const Member leader = join("a");
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    const Member follower = join("b");
    ASSERT_TRUE(until_renewed(leader));
    leader.faults->freeze();
    const Instant deadline = leader->deadline();
    trouble();
    ASSERT_LT(now(), deadline) << "it took too long, and this shows nothing";
    ASSERT_TRUE(until_leads(follower)) << trouble_of(follower);
    EXPECT_GE(now(), deadline);
    EXPECT_GT(follower->term(), term);
    EXPECT_EQ(leaders(), (std::vector<std::string>{"a", "b"}));
    leader.faults->heal();
    // Without tables nobody knows its name.
    EXPECT_TRUE(
        run_until([&] { return leader->role() == Role::follower && !leader->leader().empty(); }));
  }
};

TEST_P(PostgresFrozenLeader, R03_HasNoSuccessorBeforeItsDeadlineWhenItsSessionIsTerminated) {
  if (!has(Ability::expires)) GTEST_SKIP() << "here the session is the judge";
  expect_no_early_successor([&] { end_sessions(); });
}

// By a lock alone, too: nobody is elected before the server has been up for a lease.
TEST_P(PostgresFrozenLeader, HasNoSuccessorBeforeItsDeadlineWhenTheServerIsShutDownImmediately) {
  expect_no_early_successor([&] {
    server().stop_immediately();
    server().start();
  });
}

INSTANTIATE_TEST_SUITE_P(advisory, PostgresSessionsEnd,
                         ::testing::Values(MakeFixture{make_advisory<LongLeaseFixture>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresSessionsEnd,
                         ::testing::Values(MakeFixture{make_lease<LongLeaseFixture>}),
                         [](const auto&) { return "lease"; });
INSTANTIATE_TEST_SUITE_P(strict, PostgresSessionsEnd,
                         ::testing::Values(MakeFixture{make_strict<LongLeaseFixture>}),
                         [](const auto&) { return "strict"; });
INSTANTIATE_TEST_SUITE_P(locks, PostgresSessionsEnd, ::testing::Values(MakeFixture{make_locks}),
                         [](const auto&) { return "locks"; });
INSTANTIATE_TEST_SUITE_P(advisory, PostgresFrozenLeader,
                         ::testing::Values(MakeFixture{make_advisory<LongLeaseFixture>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresFrozenLeader,
                         ::testing::Values(MakeFixture{make_lease<LongLeaseFixture>}),
                         [](const auto&) { return "lease"; });
INSTANTIATE_TEST_SUITE_P(strict, PostgresFrozenLeader,
                         ::testing::Values(MakeFixture{make_strict<LongLeaseFixture>}),
                         [](const auto&) { return "strict"; });
INSTANTIATE_TEST_SUITE_P(locks, PostgresFrozenLeader, ::testing::Values(MakeFixture{make_locks}),
                         [](const auto&) { return "locks"; });

}  // namespace
}  // namespace conclave::conformance
