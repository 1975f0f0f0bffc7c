// Which of its sessions a place is given back on, and what comes of that.
#include "conformance/postgres_faults.hpp"

namespace conclave::conformance {
namespace {

class PostgresGiveBack : public PostgresFaults {
 protected:
  // Its session with the terms is the first one; the one that listens has said so last.
  [[nodiscard]] pid_t session_with_the_terms() {
    return static_cast<pid_t>(std::stol(
        server().value("select pid from pg_stat_activity where application_name = 'conclave' "
                       "order by backend_start limit 1")));
  }
  [[nodiscard]] pid_t session_that_listens() {
    return static_cast<pid_t>(std::stol(
        server().value("select pid from pg_stat_activity where application_name = 'conclave' "
                       "order by backend_start desc limit 1")));
  }
  [[nodiscard]] static std::string state_on(const servers::PostgresServer& server) {
    return server.value("select state from conclave_election where name = 'election'");
  }
  [[nodiscard]] std::string state() { return state_on(server()); }
};

TEST_P(PostgresGiveBack, TheSessionWithTheTermsIsNotNeededForIt) {
  const auto store = connect();
  listen(*store);
  const Term term = granted(*store, bid("a", 1)).term;
  const pid_t session = session_with_the_terms();
  server().pause_backend(session);
  EXPECT_TRUE(std::holds_alternative<Done>(resign(*store, resignation(bid("a", 1), term, true))));
  EXPECT_EQ(state(), "released");
  server().resume_backend(session);
}

// Whoever asks for that gives up after a request time-out, a third of the lease here.
TEST_P(PostgresGiveBack, NeitherIsTheOneThatListens) {
  const auto store = connect();
  listen(*store);
  const Term term = granted(*store, bid("a", 1)).term;
  const pid_t session = session_that_listens();
  server().pause_backend(session);
  on(*store, [&] {
    const Operation operation =
        store->resign(resignation(bid("a", 1), term, true), [](const Answer&) {});
    store->executor().post_at(store->clock().now() + store->lease() / 4,
                              [store = std::weak_ptr(store), operation] {
                                if (const auto there = store.lock()) there->cancel(operation);
                              });
  });
  EXPECT_TRUE(run_until([&] { return state() == "released"; }));
  server().resume_backend(session);
}

// A renewal or a bid that is executed late must not come behind it.
TEST_P(PostgresGiveBack, ItStandsBehindWhatIsUnderWayThere) {
  const auto store = connect();
  listen(*store);
  const Bid ours = bid("a", 1);
  const Term term = granted(*store, ours).term;
  const pid_t session = session_with_the_terms();
  server().pause_backend(session);
  const auto answers = std::make_shared<std::atomic<int>>(0);
  on(*store, [&] {
    store->renew({renewal(ours, term)}, [](std::size_t, const RenewAnswer&) {});
    store->resign(resignation(ours, term, true), [answers](const Answer&) { *answers += 1; });
  });
  // What was sent on the other session before this one has been executed.
  EXPECT_TRUE(inspect(*store).leader);
  EXPECT_EQ(state(), "held");
  server().resume_backend(session);
  ASSERT_TRUE(run_until([&] { return answers->load() == 1; }));
  ASSERT_TRUE(run_until([&] { return state() == "released"; }));
}

// A name may lead to several hosts, and a proxy may choose one. After a promotion both have the
// row.
TEST_P(PostgresGiveBack, ItReachesTheServerThatGrantedIt) {
  servers::PostgresServer other;
  PostgresOptions there = rig().options(lease());
  there.url = other.url();
  const auto elsewhere = make_postgres_store(there);
  while (std::holds_alternative<Unknown>(end(*elsewhere, "none"))) continue;  // makes the tables
  fault::TcpGate gate(server().port());
  const auto store = connect_through(gate);
  while (std::holds_alternative<Unknown>(end(*store, "none"))) continue;  // until it is connected
  gate.redirect(other.port());
  const auto sessions = [&] { return other.backends("application_name = 'conclave'").size(); };
  const std::size_t before = sessions();
  listen(*store);
  ASSERT_EQ(sessions(), before + 1);
  const Term term = granted(*store, bid("a", 1)).term;
  const std::string row = server().value("select to_jsonb(e) from conclave_election e");
  other.exec(
      "insert into conclave_election select * from jsonb_populate_record(null::conclave_election, "
      "$1)",
      {row});
  EXPECT_TRUE(std::holds_alternative<Done>(resign(*store, resignation(bid("a", 1), term, true))));
  EXPECT_EQ(state(), "released");
  EXPECT_EQ(state_on(other), "held");
}

// The limit of its silence goes with the term, also when the last one leaves.
TEST_P(PostgresGiveBack, ASessionWithALockMayBeSilentWhenNobodyIsLeft) {
  if (outlives_session()) GTEST_SKIP() << "here it has no lock";
  const auto store = connect();
  const Operation observation = listen(*store);
  const Term term = granted(*store, bid("a", 1)).term;
  const pid_t session = session_with_the_terms();
  on(*store, [&] { store->cancel(observation); });
  ASSERT_TRUE(std::holds_alternative<Done>(resign(*store, resignation(bid("a", 1), term, true))));
  run_for(2 * lease());
  EXPECT_EQ(session_with_the_terms(), session);
}

TEST_P(PostgresGiveBack, ASessionWithALockMayBeSilentWhenItsTermWasTaken) {
  if (outlives_session()) GTEST_SKIP() << "here it has no lock";
  const auto store = connect();
  const Bid ours = bid("a", 1);
  const Term term = granted(*store, ours).term;
  const pid_t session = session_with_the_terms();
  server().exec(
      "update conclave_election set term = term + 1, attempt = repeat('f', 32), life = 1");
  ASSERT_EQ(std::get<TermLost>(renew(*store, renewal(ours, term))).why, LossReason::superseded);
  run_for(2 * lease());
  EXPECT_EQ(session_with_the_terms(), session);
}

// The bid was given up, and is executed all the same: as long as nobody has renewed it or given it
// back, it has a lease.
TEST_P(PostgresGiveBack, R01_WhatIsGrantedLateHasALease) {
  if (has(Ability::expires)) GTEST_SKIP() << "here the clock is the judge";
  const auto store = connect();
  const auto other = connect();
  const Bid first = bid("a", 1);
  const Term term = granted(*store, first).term;
  Bid second = bid("a", 2);
  second.election = "second";
  const pid_t session = session_with_the_terms();
  server().pause_backend(session);
  ASSERT_TRUE(std::holds_alternative<Unknown>(campaign(*store, second)));
  const auto answers = std::make_shared<std::atomic<int>>(0);
  on(*store, [&] {
    store->resign(resignation(first, term, true), [answers](const Answer&) { *answers += 1; });
  });
  server().resume_backend(session);
  ASSERT_TRUE(run_until([&] { return answers->load() == 1; }));
  ASSERT_EQ(state(), "released");
  ASSERT_EQ(server().value("select state from conclave_election where name = 'second'"), "held");
  Bid third = bid("b", 3);
  third.election = "second";
  const Instant limit = now() + 20 * lease();
  bool is_granted = false;
  while (!is_granted && now() < limit) {
    is_granted = std::holds_alternative<Granted>(campaign(*other, third));
  }
  EXPECT_TRUE(is_granted);
}

INSTANTIATE_TEST_SUITE_P(advisory, PostgresGiveBack,
                         ::testing::Values(MakeFixture{make_advisory<OldServerFixture>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresGiveBack,
                         ::testing::Values(MakeFixture{make_lease<OldServerFixture>}),
                         [](const auto&) { return "lease"; });
INSTANTIATE_TEST_SUITE_P(strict, PostgresGiveBack,
                         ::testing::Values(MakeFixture{make_strict<OldServerFixture>}),
                         [](const auto&) { return "strict"; });

}  // namespace
}  // namespace conclave::conformance
