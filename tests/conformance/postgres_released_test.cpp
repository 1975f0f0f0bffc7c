// The short way to a place that was released: it decides as a bid does, or not at all.
#include "conformance/postgres_bidder.hpp"

namespace conclave::conformance {
namespace {

using servers::PostgresServer;

class PostgresReleased : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { shared = std::make_unique<PostgresServer>(); }
  static void TearDownTestSuite() { shared.reset(); }

  void SetUp() override {
    server().exec("drop table if exists conclave_election, conclave_session, conclave_server");
    server().exec(sql(postgres::create_tables));
    client_.exec("select pg_advisory_lock(5)");  // bob's life
  }
  static PostgresServer& server() { return *shared; }

  // Bob takes it the short way.
  servers::PostgresRows take(const std::string& election, std::int64_t floor = 0) {
    return client_.exec(sql(postgres::take_released),
                        {election, "b1", "bob", "", std::to_string(floor), "5", "60000000"});
  }

  std::int64_t release(Bidder& by, const std::string& election) {
    const Told granted = by.campaign(election, "a1");
    EXPECT_EQ(granted.word, "granted");
    EXPECT_TRUE(by.resign(election, "a1", granted.term));
    return granted.term;
  }

  // All but what differs between any two.
  static std::string row_of(const std::string& election) {
    return server().value(
        "select (format, state, attempt, leader, metadata, kind, stamp, lease, own_lease, vacancy, "
        "previous_lease, granted = term, vacated, ended)::text from conclave_election where name = "
        "'" +
        election + "'");
  }

 private:
  static inline std::unique_ptr<PostgresServer> shared;
  servers::PostgresClient client_ = server().client();
};

TEST_F(PostgresReleased, IsTakenAsByABid) {
  Bidder anna(server(), Kind::advisory, "anna", std::chrono::seconds{30});
  Bidder bob(server(), Kind::advisory, "bob", std::chrono::seconds{60});
  const std::int64_t before = release(anna, "short");
  release(anna, "long");
  const auto taken = take("short");
  const Told granted = bob.campaign("long", "b1");
  ASSERT_EQ(taken.size(), 1);
  EXPECT_EQ(taken[0].at(1), granted.word);
  EXPECT_GT(std::stoll(*taken[0].at(2)), before);
  EXPECT_EQ(taken[0].at(3), granted.vacancy);
  EXPECT_EQ(taken[0].at(4), "60000000");
  EXPECT_EQ(taken[0].at(5), "30000000");
  EXPECT_EQ(taken[0].at(6), taken[0].at(2)) << "the clock is above the last term";
  EXPECT_EQ(row_of("short"), row_of("long"));
  EXPECT_EQ(bob.campaign("short", "b2").word, "held");
}

TEST_F(PostgresReleased, WithATermAboveTheLastAlsoWhenTheClockIsNot) {
  Bidder anna(server(), Kind::advisory, "anna");
  release(anna, "election");
  server().exec("update conclave_election set term = 5000000000000000");
  const auto taken = take("election", 5000000000000000);
  ASSERT_EQ(taken.size(), 1);
  EXPECT_EQ(taken[0].at(2), "5000000000000001");
}

TEST_F(PostgresReleased, NothingElseIsTaken) {
  EXPECT_TRUE(take("election").empty()) << "nobody has heard of it";
  Bidder anna(server(), Kind::advisory, "anna");
  const std::int64_t term = release(anna, "election");
  for (const char* const other :
       {"state = 'held'", "state = 'abandoned'", "state = 'removed'", "ended = true", "format = 2",
        "kind = 'lease'", "kind = 'strict'", "attempt = 'b1'"}) {
    server().exec("create table kept as select * from conclave_election");
    server().exec(std::string("update conclave_election set ") + other);
    const std::string before = row_of("election");
    EXPECT_TRUE(take("election").empty()) << other;
    EXPECT_EQ(row_of("election"), before) << other;
    server().exec("delete from conclave_election");
    server().exec("insert into conclave_election select * from kept");
    server().exec("drop table kept");
  }
  EXPECT_TRUE(take("election", term + 1).empty()) << "an older state than the bidder has seen";
  EXPECT_EQ(take("election", term).size(), 1);
}

TEST_F(PostgresReleased, NobodyWaitsForWhoHasTheRowInHands) {
  Bidder anna(server(), Kind::advisory, "anna");
  release(anna, "election");
  anna.client().exec("begin");
  anna.client().exec("select from conclave_election for update");
  EXPECT_TRUE(take("election").empty());
  anna.client().exec("rollback");
  EXPECT_EQ(take("election").size(), 1);
}

}  // namespace
}  // namespace conclave::conformance
