// The short way to a place that was released: it decides as a bid does, or not at all.
#include <future>

#include "conformance/postgres_bidder.hpp"

namespace conclave::conformance {
namespace {

using servers::PostgresServer;

class PostgresReleased : public ::testing::TestWithParam<Kind> {
 protected:
  static void SetUpTestSuite() { shared = std::make_unique<PostgresServer>(); }
  static void TearDownTestSuite() { shared.reset(); }

  void SetUp() override {
    server().exec("drop table if exists conclave_election, conclave_session, conclave_server");
    server().exec(sql(postgres::create_tables));
  }
  static PostgresServer& server() { return *shared; }
  static Bidder bidder(const std::string& name,
                       std::chrono::milliseconds lease = std::chrono::seconds{60}) {
    return {server(), GetParam(), name, lease};
  }

  static std::int64_t release(Bidder& by, const std::string& election) {
    const Told granted = by.campaign(election, "a1");
    EXPECT_EQ(granted.word, "granted");
    EXPECT_TRUE(by.resign(election, "a1", granted.term));
    return granted.term;
  }

  // All but what differs between any two.
  static std::string row_of(const std::string& election) {
    return server().value(
        "select (format, state, attempt, leader, metadata, kind, e.stamp, e.lease, own_lease, "
        "vacancy, "
        "previous_lease, granted - term between 0 and 1000000, vacated, ended, granted = "
        "renewed)::text from "
        "conclave_election e "
        "left join conclave_session using (life) where name = '" +
        election + "'");
  }

 private:
  static inline std::unique_ptr<PostgresServer> shared;
};

TEST_P(PostgresReleased, IsTakenAsByABid) {
  Bidder anna = bidder("anna", std::chrono::seconds{30});
  Bidder short_way = bidder("bob");
  Bidder bob = bidder("bob");
  const std::int64_t before = release(anna, "short");
  release(anna, "long");
  const auto taken = short_way.take("short", "b1");
  const Told granted = bob.campaign("long", "b1");
  ASSERT_EQ(taken.size(), 1);
  EXPECT_EQ(taken[0].at(1), granted.word);
  EXPECT_GT(std::stoll(*taken[0].at(2)), before);
  EXPECT_EQ(taken[0].at(3), granted.vacancy);
  EXPECT_EQ(taken[0].at(4), "60000000");
  EXPECT_EQ(taken[0].at(5), "30000000");
  EXPECT_GE(std::stoll(*taken[0].at(6)), std::stoll(*taken[0].at(2)))
      << "the clock is above the last term";
  EXPECT_EQ(row_of("short"), row_of("long"));
  EXPECT_EQ(bob.campaign("short", "b2").word, "held");
}

TEST_P(PostgresReleased, ByWhoeverHeldItBefore) {
  for (const Kind before : {Kind::advisory, Kind::lease, Kind::strict}) {
    Bidder anna(server(), before, "anna");
    Bidder bob = bidder("bob");
    release(anna, to_text(before));
    EXPECT_EQ(bob.take(to_text(before), "b1").size(), 1) << to_text(before);
    EXPECT_EQ(bob.renew(to_text(before), "b1", bob.campaign(to_text(before), "b1").term).first,
              "renewed");
  }
}

TEST_P(PostgresReleased, WithATermAboveTheLastAlsoWhenTheClockIsNot) {
  Bidder anna = bidder("anna");
  release(anna, "election");
  server().exec("update conclave_election set term = 5000000000000000");
  Bidder bob = bidder("bob");
  const auto taken = bob.take("election", "b1", 5000000000000000);
  ASSERT_EQ(taken.size(), 1);
  EXPECT_EQ(taken[0].at(2), "5000000000000001");
}

// The server ends a session that holds something and is silent for longer, unless the clock alone
// is the judge. Here another setting shows it, see Bidder.
TEST_P(PostgresReleased, WhoGetsItMayBeSilentForItsLease) {
  const auto limit_of = [](Bidder& who) {
    return who.client().value("select coalesce(current_setting('conclave.no_limit', true), '')");
  };
  const std::string wanted = GetParam() == Kind::lease ? "" : "30001";
  Bidder anna = bidder("anna", std::chrono::seconds{30});
  EXPECT_EQ(limit_of(anna), "");
  release(anna, "election");
  EXPECT_EQ(limit_of(anna), wanted) << "after a bid";
  Bidder bob = bidder("bob", std::chrono::seconds{30});
  EXPECT_TRUE(bob.take("nothing", "b1").empty());
  EXPECT_EQ(limit_of(bob), "") << "without a place";
  ASSERT_EQ(bob.take("election", "b1").size(), 1);
  EXPECT_EQ(limit_of(bob), wanted) << "after the short way";
  Bidder carl = bidder("carl", std::chrono::seconds{30});
  EXPECT_EQ(carl.campaign("election", "c1").word, "held");
  EXPECT_EQ(limit_of(carl), "") << "after a bid in vain";
}

TEST_P(PostgresReleased, NothingElseIsTaken) {
  Bidder bob = bidder("bob");
  EXPECT_TRUE(bob.take("election", "b1").empty()) << "nobody has heard of it";
  Bidder anna = bidder("anna");
  const std::int64_t term = release(anna, "election");
  for (const char* const other : {"state = 'held'", "state = 'abandoned'", "state = 'removed'",
                                  "ended = true", "format = 2", "attempt = 'b1'"}) {
    server().exec("create table kept as select * from conclave_election");
    server().exec(std::string("update conclave_election set ") + other);
    const std::string before = row_of("election");
    EXPECT_TRUE(bob.take("election", "b1").empty()) << other;
    EXPECT_EQ(row_of("election"), before) << other;
    server().exec("delete from conclave_election");
    server().exec("insert into conclave_election select * from kept");
    server().exec("drop table kept");
  }
  EXPECT_TRUE(bob.take("election", "b1", term + 1).empty())
      << "an older state than the bidder has seen";
  EXPECT_EQ(bob.take("election", "b1", term).size(), 1);
}

TEST_P(PostgresReleased, NobodyWaitsForWhoHasTheRowInHands) {
  Bidder anna = bidder("anna");
  Bidder bob = bidder("bob");
  release(anna, "election");
  anna.client().exec("begin");
  anna.client().exec("select from conclave_election for update");
  EXPECT_TRUE(bob.take("election", "b1").empty());
  anna.client().exec("rollback");
  EXPECT_EQ(bob.take("election", "b1").size(), 1);
}

// Somebody takes what we have held before, at the same moment.
TEST_P(PostgresReleased, WhoHasTheOwnSessionRowInHandsIsWaitedFor) {
  if (GetParam() == Kind::advisory) GTEST_SKIP() << "that has no row";
  Bidder anna = bidder("anna");
  Bidder bob = bidder("bob");
  release(anna, "election");
  const auto take_while = [&](const std::string& attempt, const std::string& somebody_does) {
    auto somebody = server().client();
    somebody.exec("begin");
    somebody.exec(somebody_does, {bob.life()});
    auto taken = std::async(std::launch::async, [&] { return bob.take("election", attempt); });
    const auto ends = [&] {
      return taken.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
    };
    while (server().backends("wait_event_type = 'Lock'").empty() && !ends()) continue;
    EXPECT_FALSE(ends()) << "it did not wait";
    somebody.exec("commit");
    return taken.get();
  };
  const auto taken =
      take_while("b1", "update conclave_session set news = news + 1 where life = $1");
  ASSERT_EQ(taken.size(), 1);
  const std::int64_t term = std::stoll(*taken[0].at(2));
  EXPECT_EQ(bob.renew("election", "b1", term), std::pair(std::string("renewed"), true));
  ASSERT_TRUE(bob.resign("election", "b1", term));
  EXPECT_TRUE(take_while("b2", "delete from conclave_session where life = $1").empty());
  EXPECT_EQ(server().value("select state from conclave_election"), "released");
}

TEST_P(PostgresReleased, NobodyTakesItInTheNameOfALifeThatIsOver) {
  if (GetParam() == Kind::advisory) GTEST_SKIP() << "that has no row";
  Bidder anna = bidder("anna");
  Bidder bob = bidder("bob");
  release(anna, "election");
  bob.open_anew();
  bob.go_back_to_the_life_before();
  EXPECT_TRUE(bob.take("election", "b1").empty());
}

INSTANTIATE_TEST_SUITE_P(As, PostgresReleased,
                         ::testing::Values(Kind::advisory, Kind::lease, Kind::strict),
                         [](const auto& kind) { return to_text(kind.param); });

}  // namespace
}  // namespace conclave::conformance
