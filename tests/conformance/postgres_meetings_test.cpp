// What happens when two statements of the PostgreSQL store meet.
#include <future>

#include "conformance/postgres_statements_rig.hpp"

namespace conclave::conformance {
namespace {

class PostgresMeetings : public PostgresStatements {};

// The renewal read the row before it was given away, and waited for the session row: it must not
// count. In the words of the statement it is "renewed"; the news say that it has to be asked again.
TEST_F(PostgresMeetings, ARenewalThatWaitedForATakeoverHasNews) {
  Bidder anna(server(), Kind::lease, "anna");
  Bidder bob(server(), Kind::lease, "bob");
  const std::int64_t term = anna.campaign("election", "a1").term;
  let_expire();
  bob.client().exec("begin");
  ASSERT_EQ(
      bob.campaign({.name = "election", .attempt = "b1", .expected = server_time() + 1'000'000})
          .word,
      "granted");
  auto renewal = std::async(std::launch::async, [&] { return anna.renew("election", "a1", term); });
  while (server().backends("wait_event_type = 'Lock'").empty()) std::this_thread::yield();
  bob.client().exec("commit");
  EXPECT_TRUE(renewal.get().second);
  const auto again = anna.renew("election", "a1", term);
  EXPECT_EQ(again.first, "superseded");
  EXPECT_FALSE(again.second);
}

TEST_F(PostgresMeetings, ATakeoverDoesNotWaitForARenewal) {
  Bidder anna(server(), Kind::lease, "anna");
  Bidder bob(server(), Kind::lease, "bob");
  const std::int64_t term = anna.campaign("election", "a1").term;
  let_expire();
  anna.client().exec("begin");
  anna.renew("election", "a1", term);
  const Asked bid{.name = "election", .attempt = "b1", .expected = server_time() + 1'000'000};
  EXPECT_EQ(bob.campaign(bid).word, "busy") << "it would be free, but for that";
  anna.client().exec("commit");
  EXPECT_EQ(bob.campaign(bid).word, "held");
}

// Two who each take what the other has left would otherwise wait for each other.
TEST_F(PostgresMeetings, WhoTakesWhatWasLeftWaitsForNobodysSession) {
  Bidder anna(server(), Kind::lease, "anna");
  Bidder bob(server(), Kind::lease, "bob");
  for (const char* const mark : {"released", "abandoned"}) {
    EXPECT_TRUE(anna.resign("election", "a1", anna.campaign("election", "a1").term, mark));
    servers::PostgresClient third = server().client();
    third.exec("begin");
    third.exec(
        "select from conclave_session where life in (select life from conclave_election) for "
        "update");
    bob.client().exec("set lock_timeout = '10s'");
    EXPECT_EQ(bob.campaign("election", "b1").vacancy, mark);
    third.exec("rollback");
    EXPECT_TRUE(bob.resign("election", "b1", std::nullopt));
    server().exec("delete from conclave_election");
  }
}

// The end of an election tells its holder by the session row, which a new life takes away.
TEST_F(PostgresMeetings, AnEndAndANewLifeDoNotWaitForEachOther) {
  Bidder anna(server(), Kind::lease, "anna");
  anna.campaign("election", "a1");
  servers::PostgresClient third = server().client();
  third.exec("begin");
  third.exec("select from conclave_session for update");
  const auto wait = [](std::size_t count) {
    while (server().backends("wait_event_type = 'Lock'").size() != count) std::this_thread::yield();
  };
  auto anew = std::async(std::launch::async, [&] { anna.open_anew(); });
  wait(1);
  servers::PostgresClient fourth = server().client();
  auto end = std::async(std::launch::async, [&] {
    return fourth.exec(sql(postgres::end), {"election", "channel"}).size();
  });
  wait(2);
  third.exec("rollback");
  EXPECT_NO_THROW(anew.get());
  EXPECT_EQ(end.get(), 1U);
}

}  // namespace
}  // namespace conclave::conformance
