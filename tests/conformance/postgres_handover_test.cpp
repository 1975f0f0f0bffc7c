// Hand-overs: a mark that a crash of the server forgets, and who goes first.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "conformance/postgres_faults.hpp"
#include "servers/pgbouncer_server.hpp"
#include "stores/postgres/texts.hpp"

namespace conclave::conformance {
namespace {

// What is asked once has to be answered.
class HandoverFixture : public OldServerFixture {
 public:
  explicit HandoverFixture(PostgresMode mode, bool strict = false)
      : OldServerFixture(mode, strict, true, std::chrono::seconds{4}) {}
};

class PostgresHandover : public PostgresFaults {
 protected:
  [[nodiscard]] std::string state() {
    return server().value("select state from conclave_election where name = 'election'");
  }
  // Nothing that did not wait for the disk gets there by itself.
  void pause_log_writer() {
    server().pause_backend(static_cast<pid_t>(std::stol(
        server().value("select pid from pg_stat_activity where backend_type = 'walwriter'"))));
  }
  // As far as is known here, nobody has led since.
  void tell_released() {
    server().exec("select pg_notify($1, 'released 0 election')",
                  {postgres::channel_of("\"conclave_election\"", "election")});
  }
};

// The old leader goes on in another election, and would keep its place here, too, if that moved
// along to its next session.
TEST_P(PostgresHandover, AMarkThatACrashForgetsKeepsNobodyOut) {
  const auto store = connect();
  const Bid place = bid("a", 1);
  Bid other = bid("a", 2);
  other.election = "other";
  const Term term = granted(*store, place).term;
  const Term kept = granted(*store, other).term;
  listen(*store);
  pause_log_writer();
  ASSERT_TRUE(std::holds_alternative<Done>(resign(*store, resignation(place, term, true))));
  ASSERT_EQ(state(), "released");
  server().kill();
  server().start();
  ASSERT_EQ(state(), "held") << "it waited for the disk, and this shows nothing";
  const Member follower = make("b");
  follower->start();
  const Instant limit = now() + 10 * lease();
  RenewAnswer renewed = renew(*store, renewal(other, kept));
  while (!follower->leads() && now() < limit) {
    run_for(lease() / 8);
    renewed = renew(*store, renewal(other, kept));
  }
  EXPECT_TRUE(follower->leads()) << trouble_of(follower);
  EXPECT_GT(follower->term(), term);
  if (outlives_session()) {
    EXPECT_TRUE(std::holds_alternative<Renewed>(renewed));
  } else {
    EXPECT_FALSE(std::holds_alternative<Renewed>(renewed));
  }
}

// What the same session writes next is not forgotten: it is a grant.
TEST_P(PostgresHandover, AGrantAfterItIsKept) {
  const auto store = connect();
  const Term first = granted(*store, bid("a", 1)).term;
  listen(*store);
  pause_log_writer();
  resign(*store, resignation(bid("a", 1), first, true));
  const Term second = granted(*store, bid("a", 2)).term;
  server().kill();
  server().start();
  EXPECT_EQ(server().value("select term from conclave_election where name = 'election'"),
            std::to_string(second.value));
}

// Through a pooler the old leader would not notice the crash, and keep the place with the others:
// whatever is set for the pooler's sessions.
TEST_P(PostgresHandover, AMarkThroughAPoolerIsKept) {
  if (!outlives_session()) GTEST_SKIP() << "there a pooler in transaction mode is refused";
  server().exec("alter role conclave set synchronous_commit = off");
  const servers::PgBouncerServer pooler(server(), servers::PgBouncerMode::transaction);
  PostgresOptions options = rig().options(lease());
  options.url = pooler.url();
  const auto store = make_postgres_store(std::move(options));
  while (std::holds_alternative<Unknown>(end(*store, "none"))) continue;  // until it is connected
  listen(*store);  // on the same session there: what is set for one's own would be set for both
  const Term term = granted(*store, bid("a", 1)).term;
  pause_log_writer();
  resign(*store, resignation(bid("a", 1), term, true));
  server().kill();
  server().start();
  EXPECT_EQ(state(), "released");
}

// What was told of the place since somebody was seen to lead, and who that was.
class Eyes {
 public:
  void see(const Observation& what) {
    const auto* const record = std::get_if<Record>(&what);
    if (record != nullptr && record->term.value != seen) {
      asked = 0;
      vacant = 0;
      seen = record->term.value;
    }
    if (std::holds_alternative<YourTurn>(what)) asked += 1;
    if (std::holds_alternative<Vacant>(what)) vacant += 1;
  }
  std::atomic<std::uint64_t> seen = 0;
  std::atomic<int> asked = 0;
  std::atomic<int> vacant = 0;
};

TEST_P(PostgresHandover, WhoWasOutrunAsksALittleLater) {
  const auto rival = connect();
  const Term term = granted(*rival, bid("a", 1)).term;
  const auto store = connect();
  const Bid ours = bid("b", 2);
  Eyes eyes;
  on(*store,
     [&] { store->observe("election", "b", [&](const Observation& what) { eyes.see(what); }); });
  ASSERT_TRUE(run_until([&] { return eyes.seen == term.value; }));
  ASSERT_TRUE(held(*store, ours).record);
  auto quicker = server().client();
  resign(*rival, resignation(bid("a", 1), term, true));
  ASSERT_TRUE(run_until([&] { return eyes.asked == 1 && eyes.vacant == 1; }));
  quicker.exec("begin");
  quicker.exec("select from conclave_election for update");
  const Held late = held(*store, ours);
  EXPECT_FALSE(late.record);
  EXPECT_GT(late.look_again_in, Duration::zero());
  EXPECT_FALSE(held(*store, ours).record) << "asked in full";
  quicker.exec("rollback");
  EXPECT_GT(granted(*store, ours).term, term);
}

// Of three, the one that has waited for longest goes first: it is asked at once, the others are
// told a moment later that the place is free. All that is known was seen by looks.
TEST_P(PostgresHandover, WhoHasLedLaterThanOthersLetsThemGoFirst) {
  const auto rivals = connect();
  const auto store = connect();
  Eyes eyes;
  on(*store,
     [&] { store->observe("election", "b", [&](const Observation& what) { eyes.see(what); }); });
  const auto leads_and_leaves = [&](const std::string& name, std::uint64_t attempt,
                                    const Bid& meanwhile) {
    const Bid who = bid(name, attempt);
    const Term term = granted(*rivals, who).term;
    ASSERT_TRUE(run_until([&] { return eyes.seen == term.value; }));
    held(*store, meanwhile);
    resign(*rivals, resignation(who, term, true));
    ASSERT_TRUE(run_until([&] { return eyes.vacant > 0; }));
  };
  const Bid before = bid("b", 3);
  leads_and_leaves("a", 1, before);
  EXPECT_EQ(eyes.asked, 1) << "nobody waits but us";
  leads_and_leaves("a", 2, before);
  EXPECT_EQ(eyes.asked, 1);
  resign(*store, resignation(before, granted(*store, before).term, true));
  const Bid ours = bid("b", 5);
  leads_and_leaves("c", 4, ours);
  EXPECT_EQ(eyes.asked, 0) << "a has waited for longer";
  tell_released();  // somebody writes letters all the time: that keeps nobody from asking
  ASSERT_TRUE(run_until([&] { return eyes.asked > 0; }));
  granted(*store, ours);
}

TEST_P(PostgresHandover, T14_AllOfSomeWhoResignLeadInTheirTurn) {
  std::vector<Member> all;
  for (const char* const name : {"a", "b", "c", "d"}) all.push_back(join(name));
  for (int i = 0; i < 100; ++i) {
    const auto leader = [&] {
      return std::find_if(all.begin(), all.end(), [](const Member& each) { return each->leads(); });
    };
    ASSERT_TRUE(run_until([&] { return leader() != all.end(); }));
    const Member& now_leads = *leader();
    now_leads->resign();
    ASSERT_TRUE(run_until([&] { return !now_leads->leads(); }));
  }
  for (const Member& each : all) EXPECT_GE(each->count<core::Elected>(), 3U);
}

// A promotion may have lost the mark, and its session goes on where a pooler hides that.
TEST_P(PostgresHandover, WhatWasGivenBackAndIsThereAgainIsGivenBackAgain) {
  const auto store = connect();
  const Bid other = [&] {
    Bid made = bid("a", 9);
    made.election = "other";
    return made;
  }();
  const Term kept = granted(*store, other).term;
  const Member first = make_on(std::make_shared<FaultyStore>(store), "a");
  first->start();
  ASSERT_TRUE(until_leads(first));
  first->resign();
  ASSERT_TRUE(run_until([&] { return state() == "released"; }));
  server().exec("update conclave_election set state = 'held' where name = 'election'");
  const Member follower = join("b");
  const Instant limit = now() + 10 * lease();
  while (!follower->leads() && !first->leads() && now() < limit) {
    run_for(lease() / 8);
    renew(*store, renewal(other, kept));
  }
  EXPECT_TRUE(follower->leads() || first->leads());
}

// Behind a pooler nobody is told. Who has just seen a change may soon see another one.
TEST_P(PostgresHandover, WhoIsNotToldLooksOftenAfterAChange) {
  if (!outlives_session()) GTEST_SKIP() << "there a pooler in transaction mode is refused";
  const servers::PgBouncerServer pooler(server(), servers::PgBouncerMode::transaction);
  PostgresOptions options = rig().options(lease());
  options.url = pooler.url();
  const auto store = make_postgres_store(std::move(options));
  const auto leader = connect();
  const Term first = granted(*leader, bid("a", 1)).term;
  struct Looks {
    std::mutex lock;
    std::map<std::uint64_t, std::vector<Instant>> at;  // by the term that was seen
  };
  const auto looks = std::make_shared<Looks>();  // the sink may outlive this test
  on(*store, [&] {
    store->observe("election", "b", [looks, clock = &store->clock()](const Observation& what) {
      const auto* const record = std::get_if<Record>(&what);
      const std::scoped_lock guard(looks->lock);
      if (record != nullptr) looks->at[record->term.value].push_back(clock->now());
    });
  });
  const auto gaps_at = [&](Term term, std::size_t count) {
    std::vector<Duration> gaps;
    EXPECT_TRUE(run_until([&] {
      const std::scoped_lock guard(looks->lock);
      const auto& seen = looks->at[term.value];
      gaps.clear();
      for (std::size_t i = 1; i < seen.size(); ++i) gaps.push_back(seen[i] - seen[i - 1]);
      return gaps.size() >= count;
    }));
    gaps.resize(count);
    return gaps;
  };
  // On a busy machine one of two may be longer than it should be.
  const auto quickest = [](const std::vector<Duration>& gaps) {
    return std::min(gaps.at(0), gaps.at(1));
  };
  const auto at_first = gaps_at(first, 5);
  EXPECT_LT(quickest(at_first), at_first.at(4) / 2);
  resign(*leader, resignation(bid("a", 1), first, true));
  const auto after = gaps_at(granted(*leader, bid("a", 2)).term, 2);
  EXPECT_LT(quickest(after), at_first.at(4) / 2);
}

INSTANTIATE_TEST_SUITE_P(advisory, PostgresHandover,
                         ::testing::Values(MakeFixture{make_advisory<HandoverFixture>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresHandover,
                         ::testing::Values(MakeFixture{make_lease<HandoverFixture>}),
                         [](const auto&) { return "lease"; });
INSTANTIATE_TEST_SUITE_P(strict, PostgresHandover,
                         ::testing::Values(MakeFixture{make_strict<HandoverFixture>}),
                         [](const auto&) { return "strict"; });

}  // namespace
}  // namespace conclave::conformance
