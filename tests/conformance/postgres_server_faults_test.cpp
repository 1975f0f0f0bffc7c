// What happens to a PostgreSQL, and to sessions in it, while somebody leads.
#include <future>
#include <thread>

#include "conformance/postgres_faults.hpp"

namespace conclave::conformance {
namespace {

class PostgresServerFaults : public PostgresFaults {};

TEST_P(PostgresServerFaults, P01_AServerThatStandsStillEndsTheTermByTheOwnClock) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join("b");
  ASSERT_TRUE(until_renewed(leader));
  server().pause();
  EXPECT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; }));
  EXPECT_FALSE(follower->leads());
  server().resume();
  ASSERT_TRUE(until_somebody_leads(leader, follower));
  EXPECT_GT((leader->leads() ? leader : follower)->term(), term);
}

TEST_P(PostgresServerFaults, T10_AServerThatIsDownIsFoundAgain) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join("b");
  const Member leaver = join("c");
  ASSERT_TRUE(until_renewed(leader));
  server().stop_immediately();
  ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; }));
  run_for(lease());
  for (const Member* each : {&leader, &follower}) {
    EXPECT_FALSE((*each)->leads());
    EXPECT_TRUE(run_until([&] {
      const auto failed = (*each)->last<core::Failed>();
      return failed && failed->error.code == ErrorCode::unavailable;
    })) << trouble_of(*each);
  }
  leaver->stop();
  EXPECT_TRUE(until_stopped(leaver));
  server().start();
  ASSERT_TRUE(until_somebody_leads(leader, follower));
  EXPECT_GT((leader->leads() ? leader : follower)->term(), term);
}

// By its lease: the server ends a session that was idle for so long.
TEST_P(PostgresServerFaults, R01_ASilentHolderIsReplaced) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = join("b");
  ASSERT_TRUE(until_renewed(leader));
  leader.faults->freeze();
  ASSERT_TRUE(until_leads(follower));
  EXPECT_FALSE(leader->leads());
  leader.faults->heal();
  ASSERT_TRUE(until_follows(leader, "b"));
}

// Also to who only asks, when nobody is there to take its place.
TEST_P(PostgresServerFaults, R01_ASilentHolderIsNotShownAsLeader) {
  const auto store = connect();
  const Term term = granted(*store, bid("a", 1)).term;
  const auto admin = connect();
  EXPECT_TRUE(inspect(*admin).leader);
  const Instant limit = now() + 10 * lease();
  while (inspect(*admin).leader && now() < limit) run_for(lease() / 8);
  const Inspection seen = inspect(*admin);
  EXPECT_EQ(seen.vacancy, has(Ability::expires) ? Vacancy::expired : Vacancy::ended);
  EXPECT_EQ(seen.last_term, term);
}

// Nor whose session row somebody has deleted, or its own next session: nothing can renew that term.
TEST_P(PostgresServerFaults, R02_WhoseSessionRowHasGoneIsNotShownAsLeaderForEver) {
  if (!has(Ability::expires)) GTEST_SKIP() << "here it has none";
  const auto store = connect();
  const Term term = granted(*store, bid("a", 1)).term;
  const auto admin = connect();
  server().exec("delete from conclave_session");
  EXPECT_TRUE(inspect(*admin).leader) << "it may not know that yet";
  const Instant limit = now() + 10 * lease();
  while (inspect(*admin).leader && now() < limit) run_for(lease() / 8);
  const Inspection seen = inspect(*admin);
  EXPECT_EQ(seen.vacancy, Vacancy::expired);
  EXPECT_EQ(seen.last_term, term);
}

// When its election is ended, nothing of a process stays, either.
TEST_P(PostgresServerFaults, T12_NothingIsLeftOfWhoLedWhenItsElectionIsEnded) {
  Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  ASSERT_TRUE(until_renewed(leader));
  const auto admin = connect();
  ASSERT_TRUE(std::holds_alternative<Done>(end(*admin, "election")));
  ASSERT_TRUE(until_stopped(leader));
  EXPECT_TRUE(
      run_until([&] { return server().value("select count(*) from conclave_session") == "0"; }));
}

// Each that is given up waits for the standby for ever, with its row, unless somebody ends it.
TEST_P(PostgresServerFaults, NoSessionsPileUpWhileASynchronousStandbyIsAway) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = join("b");
  const auto wait_for = [&](const std::string& standby) {
    server().exec("alter system set synchronous_standby_names = '" + standby + "'");
    server().exec("select pg_reload_conf()");
  };
  wait_for("nobody");
  run_for(6 * lease());
  // A lock needs no standby; what has to be written does.
  EXPECT_EQ(leader->count<core::Lost>(), has(Ability::expires) ? 1U : 0U);
  EXPECT_FALSE(follower->leads());
  EXPECT_LE(server().backends("application_name = 'conclave'").size(), 10U);
  wait_for("");
  EXPECT_TRUE(until_somebody_leads(leader, follower));
}

TEST_P(PostgresServerFaults, T12_NothingIsLeftButTheTerm) {
  Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  Member follower = join("b");
  const Term term = leader->term();
  follower->stop();
  ASSERT_TRUE(until_stopped(follower));
  leader->stop();
  ASSERT_TRUE(until_stopped(leader));
  leader = {};
  follower = {};
  EXPECT_EQ(server().value("select (term, state, ended)::text from conclave_election"),
            "(" + std::to_string(term.value) + ",released,f)");
  while (!server().backends("application_name = 'conclave'").empty()) std::this_thread::yield();
  EXPECT_EQ(server().value("select count(*) from conclave_session"), "0");
  EXPECT_EQ(server().value("select count(*) from pg_locks where locktype = 'advisory'"), "0");
}

// A session that holds nothing may be idle for ever; one that has just got something may not.
TEST_P(PostgresServerFaults, R01_WhatIsGrantedDuringAResignationHasALease) {
  if (has(Ability::expires)) GTEST_SKIP() << "here the clock is the judge";
  const auto store = connect();
  const auto other = connect();
  const Bid first = bid("a", 1);
  const Term term = granted(*store, first).term;
  Bid second = bid("a", 2);
  second.election = "second";
  std::promise<CampaignAnswer> answered;
  on(*store, [&] {
    store->campaign(second, [&](CampaignAnswer answer) { answered.set_value(std::move(answer)); });
    // After it was sent, and before it is answered.
    store->executor().post(
        [&] { store->resign(resignation(first, term, true), [](const Answer&) {}); });
  });
  ASSERT_TRUE(std::holds_alternative<Granted>(answered.get_future().get()));
  // Nobody renews it.
  Bid third = bid("b", 3);
  third.election = "second";
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  bool is_granted = false;
  while (!is_granted && std::chrono::steady_clock::now() < until) {
    is_granted = std::holds_alternative<Granted>(campaign(*other, third));
  }
  EXPECT_TRUE(is_granted);
}

// Who waits for one lock may keep others from what it has, also when its process has gone.
TEST_P(PostgresServerFaults, NoStatementWaitsForALockWhenNobodyWaitsForItsAnswer) {
  auto store = connect();
  const Bid ours = bid("a", 1);
  const Term term = granted(*store, ours).term;
  auto somebody = server().client();
  somebody.exec("begin");
  somebody.exec("select from conclave_election, conclave_session for update");
  somebody.exec("select from conclave_election for update");  // there may be no session row
  const auto waits = [&] { return !server().backends("wait_event_type = 'Lock'").empty(); };
  on(*store, [&] {
    if (has(Ability::expires)) {
      store->renew({renewal(ours, term)}, [](std::size_t, const RenewAnswer&) {});
    } else {
      store->end("election", [](const Answer&) {});
    }
  });
  ASSERT_TRUE(run_until(waits));
  store.reset();
  EXPECT_TRUE(run_until([&] { return !waits(); }));
  somebody.exec("rollback");
}

// The limit of its silence goes with the term.
TEST_P(PostgresServerFaults, ASessionWithALockMayBeSilentWhenItsTermIsOver) {
  if (outlives_session()) GTEST_SKIP() << "here it has no lock";
  const auto store = connect();
  std::atomic<bool> listens = false;
  on(*store, [&] { store->observe("election", "a", [&](const Observation&) { listens = true; }); });
  ASSERT_TRUE(run_until([&] { return listens.load(); }));
  const Term term = granted(*store, bid("a", 1)).term;
  const auto holder = [&] {
    return server().value(
        "select string_agg(pid::text, ' ') from pg_locks where locktype = 'advisory' and granted "
        "and mode = 'ExclusiveLock'");
  };
  const std::string session = holder();
  EXPECT_FALSE(session.empty());
  ASSERT_TRUE(std::holds_alternative<Done>(resign(*store, resignation(bid("a", 1), term, true))));
  run_for(2 * lease());
  EXPECT_EQ(holder(), session);
}

TEST_P(PostgresServerFaults, R02_DroppedTablesAreMadeAnew) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  server().exec("drop table conclave_election, conclave_session, conclave_server");
  ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; }));
  ASSERT_TRUE(until_leads(leader));
  EXPECT_EQ(leader->count<core::Failed>(), 0U) << trouble_of(leader);
  EXPECT_GT(leader->term(), term);
}

// By a stranger: the term is over with the next renewal, and who leads next has a higher one.
TEST_P(PostgresServerFaults, R02_ARowThatIsOverwrittenOrDeletedEndsTheTerm) {
  for (const std::string change :
       {"update conclave_election set attempt = md5('x'), leader = 'x', life = 7, term = term + 7",
        "delete from conclave_election"}) {
    const Member leader = join("a");
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    const Member follower = join("b");
    ASSERT_TRUE(until_renewed(leader));
    server().exec(change);
    ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; })) << change;
    ASSERT_TRUE(until_somebody_leads(leader, follower)) << change;
    const Term next = (leader->leads() ? leader : follower)->term();
    EXPECT_GT(next, term) << change;
    const Member& other = leader->leads() ? follower : leader;
    EXPECT_TRUE(run_until([&] {
      const auto told = other->last<core::LeaderChanged>();
      return told && told->term == next;
    })) << "the other one is told, too";
    follower->stop();
    leader->stop();
    ASSERT_TRUE(until_stopped(follower));
    ASSERT_TRUE(until_stopped(leader));
  }
}

// Told at once by the server that a process is gone: one session waits for it.
TEST_P(PostgresServerFaults, AFollowerWaitsForTheLockOfTheLeaderOnASessionOfItsOwn) {
  if (has(Ability::expires)) GTEST_SKIP() << "who takes over waits for the lease anyway";
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = join("b");
  ASSERT_TRUE(run_until([&] {
    return server().backends("application_name = 'conclave' and wait_event = 'advisory'").size() ==
           1;
  }));
}

// A name may lead to several servers: on another one the lock is free, and that is no reason to ask
// again and again.
TEST_P(PostgresServerFaults, AFollowerThatWaitsOnAnotherServerAsksNoMoreOften) {
  if (has(Ability::expires)) GTEST_SKIP() << "who takes over waits for the lease anyway";
  const servers::PostgresServer other;
  fault::TcpGate gate(server().port());
  const auto store = connect_through(gate);
  while (std::holds_alternative<Unknown>(end(*store, "none"))) continue;  // until it is connected
  listen(*store);
  gate.redirect(other.port());
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = make_on(store, "b");
  follower->start();
  ASSERT_TRUE(run_until([&] { return !other.backends("application_name = 'conclave'").empty(); }));
  ASSERT_TRUE(until_follows(follower, "a"));
  const std::uint64_t asked = store->count(Verb::campaign);
  run_for(2 * lease());
  EXPECT_LE(store->count(Verb::campaign), asked + 10);
}

TEST_P(PostgresServerFaults, P07_AStepOfTheServersClockMakesNoSecondLeader) {
  for (const auto by : {std::chrono::hours{1}, std::chrono::hours{-2}}) {
    const std::size_t before = leaders().size();
    const Member leader = join("a" + std::to_string(before));
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    const Member follower = join("b" + std::to_string(before));
    server().step_clock(by);
    run_for(2 * lease());
    EXPECT_TRUE(leader->leads());
    EXPECT_EQ(leader->term(), term);
    EXPECT_FALSE(follower->leads());
    leader->stop();
    ASSERT_TRUE(until_leads(follower));
    EXPECT_GT(follower->term(), term);
    follower->stop();
    ASSERT_TRUE(until_stopped(follower));
  }
}

// Then its age cannot be told, and it is counted from the connection on.
TEST_P(PostgresServerFaults, P07_AClockFromBeforeItsStartKeepsNobodyFromLeading) {
  server().step_clock(std::chrono::hours{-2});
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
}

INSTANTIATE_TEST_SUITE_P(advisory, PostgresServerFaults,
                         ::testing::Values(MakeFixture{make_advisory<OwnPostgresFixture>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresServerFaults,
                         ::testing::Values(MakeFixture{make_lease<OwnPostgresFixture>}),
                         [](const auto&) { return "lease"; });
INSTANTIATE_TEST_SUITE_P(strict, PostgresServerFaults,
                         ::testing::Values(MakeFixture{make_strict<OwnPostgresFixture>}),
                         [](const auto&) { return "strict"; });

}  // namespace
}  // namespace conclave::conformance
