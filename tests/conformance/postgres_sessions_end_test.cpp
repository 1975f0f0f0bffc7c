// What ends all sessions of a server: who leads after it, and from when on.
#include <signal.h>

#include "conformance/postgres_faults.hpp"

namespace conclave::conformance {
namespace {

// Long enough for a restart of the server on a busy machine, while its leader goes on.
class LongLeaseFixture : public OldServerFixture {
 public:
  explicit LongLeaseFixture(PostgresMode mode, bool strict = false, bool tables = true)
      : OldServerFixture(mode, strict, tables, std::chrono::seconds{6}) {}
};

class PostgresSessionsEnd : public PostgresFaults {
 protected:
  // A trouble that ends all sessions: by a lock the term is lost, by the clock it is kept.
  void expect_survived(const std::function<void()>& trouble, bool takes_time = true) {
    const Member leader = join("a");
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    const Member follower = join("b");
    ASSERT_TRUE(until_renewed(leader));
    const Instant began = now();
    trouble();
    const bool was_long = takes_time && now() - began >= lease() / 3;  // on a busy machine
    if (outlives_session() && was_long) {
      ASSERT_TRUE(until_somebody_leads(leader, follower));
    } else if (outlives_session()) {
      ASSERT_TRUE(until_renewed(leader));
      EXPECT_EQ(leader->count<core::Lost>(), 0U);
      EXPECT_EQ(leader->term(), term);
    } else {
      ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; }));
      if (!takes_time) {
        EXPECT_EQ(leader->last<core::Lost>()->reason, LossReason::session_lost);
      }
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
  // One process of the server crashes, so it ends all sessions and begins anew: as old as before.
  void crash_somebody() {
    auto somebody = server().client();
    ASSERT_EQ(::kill(std::stoi(somebody.value("select pg_backend_pid()")), SIGKILL), 0);
    EXPECT_THROW(somebody.exec("select 1"), std::exception);
  }
  [[nodiscard]] bool answers() {
    try {
      return server().value("select 1") == "1";
    } catch (const std::exception&) {
      return false;
    }
  }
};

TEST_P(PostgresSessionsEnd, R03_TerminatedSessionsAreReplaced) {
  expect_survived([&] { end_sessions(); }, false);
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

TEST_P(PostgresSessionsEnd, ACrashOfOneOfItsProcessesIsSurvived) {
  expect_survived([&] {
    crash_somebody();
    while (!answers()) continue;
  });
}

// It is how a server is taken out of service, also while somebody leads there.
TEST_P(PostgresSessionsEnd, NobodyLeadsWhereNothingMayBeWrittenAnyMore) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join("b");
  ASSERT_TRUE(until_renewed(leader));
  server().exec("alter system set default_transaction_read_only = on");
  server().exec("select pg_reload_conf()");
  ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; }));
  const auto is_told = [&](const Member& member) {
    return trouble_of(member).find("only reads (default_transaction_read_only)") !=
           std::string::npos;
  };
  EXPECT_TRUE(run_until([&] { return is_told(leader) && is_told(follower); }));
  EXPECT_EQ(leaders(), std::vector<std::string>{"a"}) << "nor for a moment";
  EXPECT_FALSE(leader->leads());
  server().exec("alter system reset default_transaction_read_only");
  server().exec("select pg_reload_conf()");
  ASSERT_TRUE(until_somebody_leads(leader, follower));
  EXPECT_GT((leader->leads() ? leader : follower)->term(), term);
}

// Of several hosts one is looked for that may be written.
TEST_P(PostgresSessionsEnd, AllMoveToWhereWritesAreTaken) {
  const OldServer other({});
  PostgresOptions options = rig().options(lease());
  options.url = "postgres://conclave@127.0.0.1:" + std::to_string(server().port()) +
                ",127.0.0.1:" + std::to_string(other.own.port()) + "/postgres";
  const auto join_both = [&](const std::string& id) {
    Member member = make_on(std::make_shared<FaultyStore>(make_postgres_store(options)), id);
    member->start();
    return member;
  };
  const Member leader = join_both("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join_both("b");
  ASSERT_TRUE(until_renewed(leader));
  server().exec("alter system set default_transaction_read_only = on");
  server().exec("select pg_reload_conf()");
  ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; }));
  ASSERT_TRUE(until_somebody_leads(leader, follower));
  EXPECT_GT((leader->leads() ? leader : follower)->term(), term);
  const auto sessions_on = [](const servers::PostgresServer& one) {
    return one.backends("application_name = 'conclave'").size();
  };
  EXPECT_TRUE(run_until([&] { return sessions_on(server()) == 0; })) << "also those that listen";
  EXPECT_GE(sessions_on(other.own), 2U);
}

// libpq takes whichever answers, if it is told to.
TEST_P(PostgresSessionsEnd, HostsAreTriedUntilOneTakesWrites) {
  const OldServer other({"default_transaction_read_only = on"});
  PostgresOptions options = rig().options(lease());
  options.url = "postgres://conclave@127.0.0.1:" + std::to_string(other.own.port()) +
                ",127.0.0.1:" + std::to_string(server().port()) +
                "/postgres?target_session_attrs=any";
  const Member member = make_on(std::make_shared<FaultyStore>(make_postgres_store(options)), "a");
  member->start();
  EXPECT_TRUE(until_leads(member)) << trouble_of(member);
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
    EXPECT_TRUE(until_follows(leader, "b"));
  }
};

TEST_P(PostgresFrozenLeader, R03_HasNoSuccessorBeforeItsDeadlineWhenItsSessionIsTerminated) {
  if (!has(Ability::expires)) GTEST_SKIP() << "here the session is the judge";
  expect_no_early_successor([&] { end_sessions(); });
}

// The age of the server does not tell that it has let go of all its locks.
TEST_P(PostgresFrozenLeader, HasNoSuccessorBeforeItsDeadlineWhenAProcessOfTheServerCrashes) {
  if (!has(Ability::expires)) GTEST_SKIP() << "here the session is the judge";
  expect_no_early_successor([&] { crash_somebody(); });
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
INSTANTIATE_TEST_SUITE_P(locks, PostgresSessionsEnd,
                         ::testing::Values(MakeFixture{make_locks<LongLeaseFixture>}),
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
INSTANTIATE_TEST_SUITE_P(locks, PostgresFrozenLeader,
                         ::testing::Values(MakeFixture{make_locks<LongLeaseFixture>}),
                         [](const auto&) { return "locks"; });

}  // namespace
}  // namespace conclave::conformance
