// A standby that is promoted, while the old primary stands still, is dead, or lives on cut off.
#include "conformance/postgres_faults.hpp"
#include "servers/pgbouncer_server.hpp"

namespace conclave::conformance {
namespace {

using fault::TcpGate;
using servers::PostgresServer;

// What is committed on the primary is on the standby before it is answered.
struct Pair {
  PostgresServer primary{};
  std::unique_ptr<PostgresServer> standby = primary.standby();
};

class PairFixture : private Pair, public PostgresFixture {
 public:
  explicit PairFixture(PostgresMode mode, bool strict = false)
      : PostgresFixture(mode, strict, primary, std::chrono::seconds{2}) {}
  [[nodiscard]] PostgresServer& heir() const { return *standby; }
};

class PostgresPromotion : public PostgresFaults {
 protected:
  [[nodiscard]] PostgresServer& heir() { return static_cast<PairFixture&>(fixture()).heir(); }

  // The ways of one candidate to both.
  struct Ways {
    std::unique_ptr<TcpGate> to_primary;
    std::unique_ptr<TcpGate> to_heir;
  };
  [[nodiscard]] Ways ways() {
    return {std::make_unique<TcpGate>(server().port()), std::make_unique<TcpGate>(heir().port())};
  }
  static void close(TcpGate& gate) {
    gate.refuse();
    gate.reset_all();
  }
  Member join_by(const Ways& ways, const std::string& id) {
    PostgresOptions options = rig().options(lease());
    options.url = "postgres://conclave@127.0.0.1:" + std::to_string(ways.to_primary->port()) +
                  ",127.0.0.1:" + std::to_string(ways.to_heir->port()) + "/postgres";
    Member member = make_on(std::make_shared<FaultyStore>(make_postgres_store(options)), id);
    member->start();
    EXPECT_TRUE(run_until([&] { return member->role() == Role::follower || member->leads(); }));
    return member;
  }

  // One leads on the primary alone, the other stands in line there, and then has only the standby,
  // which is promoted.
  struct Parted {
    Ways of_a;
    Ways of_b;
    Member a{};
    Member b{};
    Term term{};
  };
  [[nodiscard]] Parted parted() {
    Parted both{ways(), ways()};
    close(*both.of_a.to_heir);
    both.a = join_by(both.of_a, "a");
    EXPECT_TRUE(until_leads(both.a));
    both.term = both.a->term();
    both.b = join_by(both.of_b, "b");
    EXPECT_TRUE(until_renewed(both.a));
    close(*both.of_b.to_primary);
    heir().promote();
    return both;
  }

  // The heir confirms who leads, and the place can be handed over there.
  void expect_goes_on(const Member& a, const Member& b, Term term) {
    const auto confirmed = [&] { return a->count<core::Extended>() + b->count<core::Extended>(); };
    const std::size_t before = confirmed();
    ASSERT_TRUE(run_until([&] { return confirmed() > before; })) << trouble_of(a) << trouble_of(b);
    const Member& leader = a->leads() ? a : b;
    const Member& other = a->leads() ? b : a;
    EXPECT_TRUE(leader->leads());
    EXPECT_GE(leader->term(), term);
    EXPECT_EQ(heir().value("select leader from conclave_election"), leader->id());
    const Term last = leader->term();
    leader->stop();
    ASSERT_TRUE(until_leads(other));
    EXPECT_GT(other->term(), last);
  }

  // Those on the primary that are waiting for the standby give up: what they wrote is there, and
  // the standby does not have it.
  std::size_t cancel_waits() {
    return server()
        .exec("select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'")
        .size();
  }
};

class PromotionByClock : public PostgresPromotion {};
class PromotionOfAll : public PostgresPromotion {};

// A pooler that moves to the standby: nobody is told that it is another server.
class PromotionBehindAPooler : public PostgresPromotion {
 protected:
  Member join_through(const std::string& id) {
    PostgresOptions options = rig().options(lease());
    options.url = pooler_.url();
    Member member = make_on(std::make_shared<FaultyStore>(make_postgres_store(options)), id);
    member->start();
    EXPECT_TRUE(run_until([&] { return member->role() == Role::follower || member->leads(); }));
    return member;
  }
  void promote() {
    server().kill();
    heir().promote();
    gate_.redirect(heir().port());
    gate_.reset_all();
  }

 private:
  TcpGate gate_{server().port()};
  servers::PgBouncerServer pooler_{gate_.port(), servers::PgBouncerMode::transaction};
};

// That no two lead is not promised there.
class PromotionByLockAlone : public PostgresPromotion {
 protected:
  void TearDown() override { EXPECT_TRUE(contradiction()) << "docs/stores/postgres.md says less"; }
};

TEST_P(PromotionByClock, AllMoveToTheStandby) {
  const Ways of_a = ways();
  const Ways of_b = ways();
  const Member a = join_by(of_a, "a");
  ASSERT_TRUE(until_leads(a));
  const Term term = a->term();
  const Member b = join_by(of_b, "b");
  ASSERT_TRUE(until_renewed(a));
  server().pause();
  heir().promote();
  expect_goes_on(a, b, term);
}

TEST_P(PromotionByClock, NoRenewalCountsOnAPrimaryThatIsCutOff) {
  const Parted both = parted();
  const Member& a = both.a;
  const Member& b = both.b;
  const std::size_t renewed = a->count<core::Extended>();
  std::size_t cancelled = 0;
  // Here, and not on the loop of the candidates, which have to renew meanwhile.
  const auto cancel_until = [&](const std::function<bool()>& done) {
    const Instant limit = now() + std::chrono::seconds{30};
    while (!done() && now() < limit) {
      cancelled += cancel_waits();
      run_for(std::chrono::milliseconds{20});
    }
    return done();
  };
  ASSERT_TRUE(cancel_until([&] { return b->leads(); }));
  EXPECT_GT(cancelled, 0U);
  EXPECT_GT(b->term(), both.term);
  // One may have come home just before the promotion.
  EXPECT_LE(a->count<core::Extended>(), renewed + 1);
  const Instant until = now() + 2 * lease();
  ASSERT_TRUE(cancel_until([&] { return now() >= until; }));
  EXPECT_EQ(leaders(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(b->leads());
  both.of_a.to_heir->pass();
  close(*both.of_a.to_primary);
  ASSERT_TRUE(until_follows(a, "b"));
}

TEST_P(PromotionBehindAPooler, TheElectionGoesOn) {
  const Member a = join_through("a");
  ASSERT_TRUE(until_leads(a));
  const Term term = a->term();
  const Member b = join_through("b");
  ASSERT_TRUE(until_renewed(a));
  promote();
  expect_goes_on(a, b, term);
}

TEST_P(PromotionBehindAPooler, ASilentLeaderHasNoSuccessorBeforeItsDeadline) {
  const Member a = join_through("a");
  ASSERT_TRUE(until_leads(a));
  const Term term = a->term();
  const Member b = join_through("b");
  ASSERT_TRUE(until_renewed(a));
  a.faults->freeze();
  const Instant deadline = a->deadline();
  promote();
  ASSERT_TRUE(until_leads(b)) << trouble_of(b);
  EXPECT_GE(now(), deadline);
  EXPECT_GT(b->term(), term);
}

// The locks are not on the standby, and by the clock its own may be another one.
TEST_P(PromotionOfAll, NobodyIsElectedOnANewTimelineBeforeALeaseHasPassed) {
  const Ways of_a = ways();
  const Ways of_b = ways();
  close(*of_a.to_heir);
  const Member a = join_by(of_a, "a");
  ASSERT_TRUE(until_leads(a));
  const Term term = a->term();
  const Member b = join_by(of_b, "b");
  ASSERT_TRUE(until_renewed(a));
  of_a.to_primary->half_open();  // so that it believes in its term for as long as it may
  server().kill();
  const Instant promoted = now();
  heir().promote();
  ASSERT_TRUE(until_leads(b));
  EXPECT_GE(now() - promoted, lease());
  EXPECT_GT(b->term(), term);
  const Term next = b->term();
  of_a.to_heir->pass();
  ASSERT_TRUE(until_follows(a, "b"));
  b->stop();
  ASSERT_TRUE(until_leads(a));
  EXPECT_GT(a->term(), next);
}

// A lock needs no standby. The terms tell the two apart, and they are one again when the old
// primary cannot be reached any more.
TEST_P(PromotionByLockAlone, TwoLeadWhileTheOldPrimaryGoesOn) {
  const Parted both = parted();
  const Member& a = both.a;
  const Member& b = both.b;
  ASSERT_TRUE(until_leads(b));
  EXPECT_GT(b->term(), both.term);
  ASSERT_TRUE(until_renewed(a));
  EXPECT_EQ(a->term(), both.term);
  both.of_a.to_heir->pass();
  close(*both.of_a.to_primary);
  ASSERT_TRUE(until_follows(a, "b"));
}

INSTANTIATE_TEST_SUITE_P(lease, PromotionByClock,
                         ::testing::Values(MakeFixture{make_lease<PairFixture>}),
                         [](const auto&) { return "lease"; });
INSTANTIATE_TEST_SUITE_P(strict, PromotionByClock,
                         ::testing::Values(MakeFixture{make_strict<PairFixture>}),
                         [](const auto&) { return "strict"; });
INSTANTIATE_TEST_SUITE_P(lease, PromotionBehindAPooler,
                         ::testing::Values(MakeFixture{make_lease<PairFixture>}),
                         [](const auto&) { return "lease"; });
INSTANTIATE_TEST_SUITE_P(lease, PromotionOfAll,
                         ::testing::Values(MakeFixture{make_lease<PairFixture>}),
                         [](const auto&) { return "lease"; });
INSTANTIATE_TEST_SUITE_P(advisory, PromotionOfAll,
                         ::testing::Values(MakeFixture{make_advisory<PairFixture>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(advisory, PromotionByLockAlone,
                         ::testing::Values(MakeFixture{make_advisory<PairFixture>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(strict, PromotionOfAll,
                         ::testing::Values(MakeFixture{make_strict<PairFixture>}),
                         [](const auto&) { return "strict"; });

}  // namespace
}  // namespace conclave::conformance
