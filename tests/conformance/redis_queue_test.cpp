// The line of those who wait, who is woken, and what it all costs the server.
#include "conformance/conformance.hpp"
#include "conformance/redis_rig.hpp"

namespace conclave::conformance {
namespace {

std::unique_ptr<StoreFixture> make_shared_rig() { return std::make_unique<RedisFixture>(); }

class RedisQueue : public Conformance {
 protected:
  [[nodiscard]] servers::RedisServer& server() {
    return static_cast<RedisFixture&>(fixture()).server();
  }

  // What a sink is told, counted on the loop.
  struct Heard {
    int records = 0;
    int turns = 0;
    int ended = 0;
    std::vector<Vacant> vacant;
  };
  std::shared_ptr<Heard> listen(Store& store, const std::string& candidate) {
    auto heard = std::make_shared<Heard>();
    on(store, [&] {
      store.observe("election", candidate, [this, heard](const Observation& what) {
        heard->records += std::holds_alternative<Record>(what) ? 1 : 0;
        heard->turns += std::holds_alternative<YourTurn>(what) ? 1 : 0;
        heard->ended += std::holds_alternative<Ended>(what) ? 1 : 0;
        if (const auto* vacant = std::get_if<Vacant>(&what)) heard->vacant.push_back(*vacant);
        fixture().changed();
      });
    });
    return heard;
  }

  static constexpr auto queue = "conclave:{election}:queue";

  // So many, all in one process, which dies when they do.
  std::vector<Member> join_many(int count) {
    const auto process = std::make_shared<FaultyStore>(connect());
    std::vector<Member> members;
    for (int i = 0; i < count; ++i) {
      members.push_back(make_on(process, "ghost " + std::to_string(++ghosts_)));
      members.back()->start();
    }
    for (const Member& each : members) {
      EXPECT_TRUE(run_until([&] { return each->role() == Role::follower; }));
    }
    return members;
  }

  // Requests that the server has carried out, and pings.
  [[nodiscard]] long calls_of(const std::string& command) {
    for (const std::string& line : server().lines({"INFO", "commandstats"})) {
      const std::string start = "cmdstat_" + command + ":calls=";
      if (line.starts_with(start)) return std::stol(line.substr(start.size()));
    }
    return 0;
  }
  [[nodiscard]] long connections() {
    long count = 0;
    for (const std::string& line : server().lines({"CLIENT", "LIST"})) {
      count += line.find(" name=conclave ") != std::string::npos ? 1 : 0;
    }
    return count;
  }

 private:
  int ghosts_ = 0;
};

TEST_P(RedisQueue, T13_TheFirstInLineIsWoken) {
  std::vector<Member> members;
  for (const char* id : {"a", "b", "c", "d", "e"}) members.push_back(join(id));
  for (std::uint32_t i = 1; i < 5; ++i) EXPECT_EQ(members[i]->place(), i);
  stop_one_leader_after_the_other(members);
  EXPECT_EQ(leaders(), (std::vector<std::string>{"a", "b", "c", "d", "e"}));
}

// Dead ones on both sides of the only one who lives.
TEST_P(RedisQueue, GhostsDoNotHoldUpTheHandOver) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  auto ghosts = join_many(60);
  const Member next = join("b");
  auto others = join_many(60);
  ASSERT_EQ(next->place(), 61U);
  ASSERT_EQ(inspect(*next.faults).candidates.size(), 121U);
  ghosts.clear();
  others.clear();
  while (connections() > 4) run_for(lease() / 100);
  leader->stop();
  // It is called: by itself it would look after 61 leases.
  ASSERT_TRUE(until_leads(next));
  // Those behind it are found when somebody is to be told that he is next.
  EXPECT_TRUE(run_until([&] { return server().command({"ZCARD", queue}).number == 0; }));
}

TEST_P(RedisQueue, T07_GhostsDoNotKeepACrashedLeadersPlace) {
  Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  auto ghosts = join_many(3);
  const Member next = join("b");
  auto others = join_many(3);
  leader = {};
  ghosts.clear();
  others.clear();
  ASSERT_TRUE(until_leads(next));
  EXPECT_GT(next->term(), term);
  EXPECT_TRUE(run_until([&] { return server().command({"ZCARD", queue}).number == 0; }));
}

TEST_P(RedisQueue, WhoseProcessIsGoneIsSkipped) {
  const Member leader = join("a");
  Member dead = join("b");
  Member dead_too = join("c");
  const Member next = join("d");
  ASSERT_TRUE(until_leads(leader));
  ASSERT_EQ(connections(), 8);
  dead = {};
  dead_too = {};
  while (connections() > 4) run_for(lease() / 100);
  // Nobody has told the server.
  ASSERT_EQ(inspect(*leader.faults).candidates.size(), 3U);
  leader->stop();
  ASSERT_TRUE(until_leads(next));
  EXPECT_TRUE(inspect(*next.faults).candidates.empty());
}

// Its call comes when the one before it is granted the place: there is nobody in front any more.
TEST_P(RedisQueue, T07_TheNextOneLearnsOfATakeoverThatItIsFirst) {
  const auto first = connect();
  const auto second = connect();
  const auto third = connect();
  static_cast<void>(granted(*first, bid("a", 1)));
  Bid next = bid("b", 2);
  next.seen.unchanged = held(*second, next).record.value_or(Record{}).version();
  EXPECT_EQ(held(*third, bid("c", 3)).place, 2U);
  const auto heard = listen(*third, "c");
  ASSERT_TRUE(run_until([&] { return heard->records == 1; }));
  EXPECT_EQ(heard->turns, 0);
  static_cast<void>(granted(*second, next));
  ASSERT_TRUE(run_until([&] { return heard->turns == 1 && heard->records == 2; }));
  EXPECT_EQ(held(*third, bid("c", 3)).place, 1U);
}

TEST_P(RedisQueue, T09_WhoeverLeavesTheFrontCallsTheNext) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Member first = join("b");
  const Member second = join("c");
  ASSERT_EQ(second->place(), 2U);
  first->stop();
  ASSERT_TRUE(until_stopped(first));
  ASSERT_TRUE(run_until([&] { return second->place() == 1; }));
  EXPECT_TRUE(leader->leads());
  leader->stop();
  ASSERT_TRUE(until_leads(second));
}

TEST_P(RedisQueue, T11_AnEndReachesEverybody) {
  std::vector<Member> members;
  members.reserve(10);
  for (int i = 0; i < 10; ++i) members.push_back(join("member " + std::to_string(i)));
  const auto watcher = connect();
  const auto heard = listen(*watcher, "watcher");
  EXPECT_TRUE(std::holds_alternative<Done>(end(*connect())));
  for (const Member& member : members) {
    ASSERT_TRUE(run_until([&] { return member->count<core::HasStopped>() == 1; }));
    EXPECT_TRUE(member->last<core::HasStopped>()->election_ended);
  }
  EXPECT_TRUE(run_until([&] { return heard->ended > 0; }));
  EXPECT_EQ(members[0]->last<core::Lost>()->reason, LossReason::election_ended);
}

TEST_P(RedisQueue, T12_NothingIsLeftOfALeaderThatStoppedButItsRecord) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = join("b");
  ASSERT_EQ(server().lines({"KEYS", "*"}).size(), 4U);
  follower->stop();
  ASSERT_TRUE(until_stopped(follower));
  leader->stop();
  ASSERT_TRUE(until_stopped(leader));
  EXPECT_EQ(server().lines({"KEYS", "*"}), std::vector<std::string>{"conclave:{election}"});
}

TEST_P(RedisQueue, ObserversHearOfAVacancyThatNobodyWaitedFor) {
  const auto watcher = connect();
  const auto heard = listen(*watcher, "watcher");
  ASSERT_TRUE(run_until([&] { return heard->vacant.size() == 1; }));
  EXPECT_EQ(heard->vacant[0].vacancy, Vacancy::absent);
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  ASSERT_TRUE(run_until([&] { return heard->records == 1; }));
  leader->stop();
  ASSERT_TRUE(run_until([&] { return heard->vacant.size() == 2; }));
  EXPECT_EQ(heard->vacant[1].vacancy, Vacancy::released);
  EXPECT_EQ(heard->vacant[1].term, term);
}

TEST_P(RedisQueue, AProcessHasTwoConnectionsForAllItsElections) {
  const auto store = connect();
  const auto other = connect();
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::string election = "election " + std::to_string(i);
    static_cast<void>(granted(*store, {election, "a", Attempt{1, i}, {}, {}, {}}));
    static_cast<void>(held(*other, {election, "b", Attempt{2, i}, {}, {}, {}}));
  }
  EXPECT_EQ(connections(), 4);
}

// Without a queue, each of them would ask in every lease.
TEST_P(RedisQueue, AnIdleFleetCostsNoMoreThanASmallOne) {
  const Member leader = join("leader");
  ASSERT_TRUE(until_leads(leader));
  const auto fleet = std::make_shared<FaultyStore>(connect());
  std::vector<Member> members;
  members.reserve(20);
  for (int i = 0; i < 20; ++i) {
    members.push_back(make_on(fleet, "member " + std::to_string(i)));
    members.back()->start();
  }
  for (const Member& member : members) {
    ASSERT_TRUE(run_until([&] { return member->role() == Role::follower; }));
  }
  run_for(lease());
  constexpr int leases = 6;
  const long scripts = calls_of("evalsha");
  const long pings = calls_of("ping");
  run_for(leases * lease());
  // Renewals three times a lease; the r-th in line looks every r leases, which makes 3.6 for 20.
  const double each = static_cast<double>(calls_of("evalsha") - scripts) / leases;
  EXPECT_LT(each, 10.0);
  EXPECT_GT(each, 2.0);
  EXPECT_LE(calls_of("ping") - pings, 2 * (leases + 1));
  EXPECT_TRUE(leader->leads());
}

INSTANTIATE_TEST_SUITE_P(redis, RedisQueue, ::testing::Values(MakeFixture{make_shared_rig}),
                         [](const auto&) { return "redis"; });

}  // namespace
}  // namespace conclave::conformance
