// Behind a real PgBouncer: what is refused, and what works all the same.
#include <thread>

#include "conformance/conformance.hpp"
#include "conformance/postgres_bidder.hpp"
#include "conformance/postgres_own_rig.hpp"
#include "servers/pgbouncer_server.hpp"

namespace conclave::conformance {
namespace {

using servers::PgBouncerMode;
using servers::PgBouncerServer;

std::unique_ptr<StoreFixture> make_advisory() {
  return std::make_unique<PostgresFixture>(PostgresMode::advisory);
}

class PostgresPooler : public Conformance {
 protected:
  [[nodiscard]] PostgresFixture& rig() { return static_cast<PostgresFixture&>(fixture()); }

  [[nodiscard]] std::shared_ptr<Store> through(const PgBouncerServer& pooler, PostgresMode mode) {
    PostgresOptions options = rig().options(lease());
    options.url = pooler.url();
    options.mode = mode;
    return make_postgres_store(options);
  }
  [[nodiscard]] Member join_through(const PgBouncerServer& pooler, PostgresMode mode,
                                    const std::string& id) {
    Member member = make_on(std::make_shared<FaultyStore>(through(pooler, mode)), id);
    member->start();
    EXPECT_TRUE(run_until([&] { return member->leads() || member->role() == Role::follower; }));
    return member;
  }

  // Some who have nothing to do with elections, and never pause.
  class Others {
   public:
    explicit Others(const PgBouncerServer& pooler) {
      for (int i = 0; i < 3; ++i) {
        threads_.emplace_back([url = pooler.url()](const std::stop_token& over) {
          servers::PostgresClient client(url);
          while (!over.stop_requested()) client.exec("select 1");
        });
      }
    }

   private:
    std::vector<std::jthread> threads_;
  };

  // Whoever leads after the trouble leads alone, and hands over as ever.
  void expect_survived(PgBouncerServer& pooler, const std::function<void()>& trouble) {
    const Member a = join_through(pooler, PostgresMode::lease, "a");
    ASSERT_TRUE(until_leads(a));
    const Member b = join_through(pooler, PostgresMode::lease, "b");
    const auto confirmed = [&] { return a->count<core::Extended>() + b->count<core::Extended>(); };
    trouble();
    const std::size_t before = confirmed();
    ASSERT_TRUE(run_until([&] { return confirmed() > before; })) << trouble_of(a) << trouble_of(b);
    ASSERT_NE(a->leads(), b->leads());
    const Member& leader = a->leads() ? a : b;
    const Member& other = a->leads() ? b : a;
    const Term term = leader->term();
    leader->stop();
    ASSERT_TRUE(until_leads(other));
    EXPECT_GT(other->term(), term);
  }

  void make_tables() { rig().server().exec(sql(postgres::create_tables)); }

  void expect_lease_works(PgBouncerMode mode) {
    const PgBouncerServer pooler(rig().server(), mode);
    const Member leader = join_through(pooler, PostgresMode::lease, "a");
    ASSERT_TRUE(until_leads(leader));
    Member follower = join_through(pooler, PostgresMode::lease, "b");
    run_for(2 * lease());
    EXPECT_TRUE(leader->leads());
    leader->stop();
    ASSERT_TRUE(until_leads(follower));
    const Member next = join_through(pooler, PostgresMode::lease, "c");
    follower = {};  // crashes
    EXPECT_TRUE(until_leads(next));
  }

  // In session mode, strict or without tables.
  void expect_lock_works(bool strict) {
    const OldServer server({});
    const PgBouncerServer pooler(server.own, PgBouncerMode::session);
    PostgresOptions options = rig().options(lease());
    options.url = pooler.url();
    options.strict = strict;
    options.tables = strict;
    const auto join_one = [&](const std::string& id) {
      Member member = make_on(std::make_shared<FaultyStore>(make_postgres_store(options)), id);
      member->start();
      EXPECT_TRUE(run_until([&] { return member->leads() || member->role() == Role::follower; }))
          << trouble_of(member);
      return member;
    };
    Member first = join_one("a");
    ASSERT_TRUE(until_leads(first));
    const Term term = first->term();
    const Member second = join_one("b");
    const std::size_t renewed = first->count<core::Extended>();
    ASSERT_TRUE(run_until([&] { return first->count<core::Extended>() >= renewed + 3; }));
    EXPECT_FALSE(second->leads());
    first = {};  // crashes
    ASSERT_TRUE(until_leads(second)) << trouble_of(second);
    EXPECT_GT(second->term(), term);
    const Member third = join_one("c");
    second->stop();
    EXPECT_TRUE(until_leads(third));
  }
};

TEST_P(PostgresPooler, P05_ALockIsRefusedInTransactionModeWithTheFix) {
  const PgBouncerServer pooler(rig().server(), PgBouncerMode::transaction);
  PostgresOptions plain = rig().options(lease());
  plain.url = pooler.url();
  PostgresOptions strict = plain;
  strict.strict = true;
  PostgresOptions without_tables = plain;
  without_tables.tables = false;
  for (const PostgresOptions& options : {plain, strict, without_tables}) {
    const auto store = make_postgres_store(options);
    const auto answer = campaign(*store, bid("a", 1));
    const auto* const unknown = std::get_if<Unknown>(&answer);
    ASSERT_NE(unknown, nullptr) << answer.index();
    EXPECT_EQ(unknown->error.code, ErrorCode::unsupported);
    EXPECT_FALSE(unknown->error.retryable);
    EXPECT_NE(unknown->error.message.find("transaction mode"), std::string::npos)
        << unknown->error.message;
    EXPECT_NE(unknown->error.message.find("mode=lease"), std::string::npos);
    // What others use through the same pooler was left alone.
    EXPECT_EQ(rig().server().value("select count(*) from pg_locks where locktype = 'advisory'"),
              "0");
  }
}

// Where many others use the pooler, the first look at it may not tell; a renewal does.
TEST_P(PostgresPooler, ALockIsRefusedInABusyPoolToo) {
  const PgBouncerServer pooler(rig().server(), PgBouncerMode::transaction);
  const Others others(pooler);
  const auto is_refused = [](const auto& answer) {
    const auto* const unknown = std::get_if<Unknown>(&answer);
    return unknown != nullptr && unknown->error.code == ErrorCode::unsupported;
  };
  for (std::uint64_t round = 1; round <= 5; ++round) {
    const auto store = through(pooler, PostgresMode::advisory);
    Bid mine = bid("a", round);
    mine.election = "election " + std::to_string(round);
    bool is_found_out = false;
    for (int i = 0; i < 1000 && !is_found_out; ++i) {
      const auto answer = campaign(*store, mine);
      const auto* const granted = std::get_if<Granted>(&answer);
      is_found_out = granted != nullptr ? is_refused(renew(*store, renewal(mine, granted->term)))
                                        : is_refused(answer);
    }
    EXPECT_TRUE(is_found_out);
  }
}

// Whatever a look at it did not tell: that nobody leads beside another is seen from the history.
TEST_P(PostgresPooler, NoTwoLeadInABusyPool) {
  const PgBouncerServer pooler(rig().server(), PgBouncerMode::transaction);
  const Others others(pooler);
  std::vector<Member> members;
  for (const bool strict : {false, false, false, true}) {
    PostgresOptions options = rig().options(lease());
    options.url = pooler.url();
    options.strict = strict;
    members.push_back(make_on(std::make_shared<FaultyStore>(make_postgres_store(options)),
                              std::to_string(members.size())));
    members.back()->start();
  }
  run_for(6 * lease());
  EXPECT_EQ(contradiction(), std::nullopt);
}

// A pooler may give the same session to two of us, to which the lock of either is free.
TEST_P(PostgresPooler, ALockOfASharedSessionIsHeldThereToo) {
  make_tables();
  const auto session = std::make_shared<servers::PostgresClient>(rig().server().client());
  const std::string backend = session->value("select pg_backend_pid()");
  for (const Kind kind : {Kind::advisory, Kind::strict}) {
    const std::string election = to_text(kind);
    Bidder anna(session, kind, "anna");
    Bidder bob(session, kind, "bob");
    anna.grant_only_on(backend);
    bob.grant_only_on(backend);
    const Told granted = anna.campaign(election, "a1");
    EXPECT_EQ(granted.word, "granted");
    EXPECT_EQ(bob.campaign(election, "b1").word, "held");
    const Asked late{.name = election,
                     .attempt = "b1",
                     .seen_term = granted.term,
                     .seen_stamp = 0,
                     .expected = granted.now + 2 * anna.lease_in_micros()};
    rig().server().exec("update conclave_session set renewed = 0");
    EXPECT_EQ(bob.campaign(late).word, "held") << "while the lock is there";
    EXPECT_TRUE(anna.resign(election, "a1", granted.term));
    EXPECT_EQ(bob.campaign(election, "b1").word, "granted");
  }
}

TEST_P(PostgresPooler, NothingIsGrantedWhereOurLockIsNot) {
  make_tables();
  Bidder anna(rig().server(), Kind::advisory, "anna");
  anna.grant_only_on("1");
  EXPECT_EQ(anna.campaign("election", "a1").word, "") << "not a word";
  anna.grant_only_on(std::nullopt);
  EXPECT_TRUE(anna.resign("election", "a1", anna.campaign("election", "a1").term));
  anna.grant_only_on("1");
  EXPECT_TRUE(anna.take("election", "a2").empty());
  anna.grant_only_on(anna.client().value("select pg_backend_pid()"));
  EXPECT_EQ(anna.take("election", "a2").size(), 1);
}

TEST_P(PostgresPooler, ALockIsHeldInSessionMode) {
  const PgBouncerServer pooler(rig().server(), PgBouncerMode::session);
  const Member leader = join_through(pooler, PostgresMode::advisory, "a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = join_through(pooler, PostgresMode::advisory, "b");
  EXPECT_EQ(follower->role(), Role::follower);
  run_for(2 * lease());
  EXPECT_TRUE(leader->leads());
  EXPECT_LE(rig().server().backends("application_name = 'conclave'").size(), 4U)
      << "the pool has only so many";
  leader->stop();
  EXPECT_TRUE(until_leads(follower));
}

// Nobody waits for its lock there: looks find that it is free.
TEST_P(PostgresPooler, ALeaderThatCrashesInSessionModeIsReplaced) {
  const PgBouncerServer pooler(rig().server(), PgBouncerMode::session);
  Member leader = join_through(pooler, PostgresMode::advisory, "a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = join_through(pooler, PostgresMode::advisory, "b");
  leader = {};
  EXPECT_TRUE(until_leads(follower));
}

// With the pooler, or with its sessions, the lock has gone: its holder knows that, and all connect
// anew.
TEST_P(PostgresPooler, ALockThatWasLostWithThePoolerIsTakenAnew) {
  PgBouncerServer pooler(rig().server(), PgBouncerMode::session);
  const Member a = join_through(pooler, PostgresMode::advisory, "a");
  ASSERT_TRUE(until_leads(a));
  const Member b = join_through(pooler, PostgresMode::advisory, "b");
  const auto renew_pooler = [&] {
    pooler.kill();
    pooler.start();
  };
  const auto end_sessions = [&] {
    rig().server().exec(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = "
        "'conclave'");
  };
  for (const std::function<void()>& trouble :
       {std::function<void()>(renew_pooler), {end_sessions}}) {
    const Member& leader = a->leads() ? a : b;
    const Term term = leader->term();
    const std::size_t lost = leader->count<core::Lost>();
    trouble();
    ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == lost + 1; }));
    ASSERT_TRUE(run_until([&] { return a->leads() || b->leads(); })) << trouble_of(b);
    EXPECT_GT((a->leads() ? a : b)->term(), term);
  }
  const Member& leader = a->leads() ? a : b;
  const Member& other = a->leads() ? b : a;
  leader->stop();
  EXPECT_TRUE(until_leads(other));
}

TEST_P(PostgresPooler, AStrictLockIsHeldInSessionMode) { expect_lock_works(true); }

TEST_P(PostgresPooler, ALockWithoutTablesIsHeldInSessionMode) { expect_lock_works(false); }

// The pooler's session with the lock is ended by the server as one of our own is.
TEST_P(PostgresPooler, R01_ASilentLeaderInSessionModeIsReplaced) {
  const PgBouncerServer pooler(rig().server(), PgBouncerMode::session);
  const Member leader = join_through(pooler, PostgresMode::advisory, "a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join_through(pooler, PostgresMode::advisory, "b");
  leader.faults->freeze();
  ASSERT_TRUE(until_leads(follower)) << trouble_of(follower);
  EXPECT_FALSE(leader->leads());
  EXPECT_GT(follower->term(), term);
}

TEST_P(PostgresPooler, P05_ALeaseNeedsNoSessionOfItsOwn) {
  expect_lease_works(PgBouncerMode::transaction);
}

TEST_P(PostgresPooler, ALeaseSurvivesANewPooler) {
  PgBouncerServer pooler(rig().server(), PgBouncerMode::transaction);
  expect_survived(pooler, [&] {
    pooler.kill();
    pooler.start();
  });
}

TEST_P(PostgresPooler, ALeaseSurvivesARestartBehindThePooler) {
  PgBouncerServer pooler(rig().server(), PgBouncerMode::transaction);
  expect_survived(pooler, [&] { rig().server().restart(); });
}

TEST_P(PostgresPooler, P01_ATermEndsByTheOwnClockWhileThePoolerStandsStill) {
  PgBouncerServer pooler(rig().server(), PgBouncerMode::transaction);
  const Member a = join_through(pooler, PostgresMode::lease, "a");
  ASSERT_TRUE(until_leads(a));
  const Term term = a->term();
  const Member b = join_through(pooler, PostgresMode::lease, "b");
  pooler.pause();
  EXPECT_TRUE(run_until([&] { return a->count<core::Lost>() == 1; }));
  EXPECT_FALSE(b->leads());
  pooler.resume();
  ASSERT_TRUE(run_until([&] { return a->leads() || b->leads(); }));
  EXPECT_GT((a->leads() ? a : b)->term(), term);
}

TEST_P(PostgresPooler, ALeaseWorksInSessionModeToo) { expect_lease_works(PgBouncerMode::session); }

INSTANTIATE_TEST_SUITE_P(postgres, PostgresPooler, ::testing::Values(MakeFixture{make_advisory}),
                         [](const auto&) { return "postgres"; });

}  // namespace
}  // namespace conclave::conformance
