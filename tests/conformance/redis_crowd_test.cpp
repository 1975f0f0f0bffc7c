// Crowds as large as the scenarios say: a thousand who wait, and a thousand who are told of an end.
#include "conformance/conformance.hpp"
#include "conformance/redis_rig.hpp"

namespace conclave::conformance {
namespace {

// Long enough for a leader to keep its place on a busy machine while so many come.
std::unique_ptr<StoreFixture> make_patient_rig() {
  return std::make_unique<RedisFixture>(shared_redis(), std::chrono::seconds{2});
}

class RedisCrowd : public Conformance {
 protected:
  [[nodiscard]] servers::RedisServer& server() {
    return static_cast<RedisFixture&>(fixture()).server();
  }

  using Members = std::vector<Member>;

  // So many more, all started at once, each on one of those connections.
  void add(Members& members, const std::vector<std::shared_ptr<FaultyStore>>& stores, int count) {
    for (int i = 0; i < count; ++i) {
      const std::size_t number = members.size();
      members.push_back(
          make_on(stores[number % stores.size()], "member " + std::to_string(number)));
      members.back()->start();
    }
  }
  // One after the other, so that nobody is asked again who has said yes.
  template <typename Question>
  [[nodiscard]] bool until_all(const Members& members, Question question) {
    return std::all_of(members.begin(), members.end(), [&](const Member& each) {
      return run_until([&] { return question(*each.candidate); });
    });
  }

  // All that the server was asked, also by scripts.
  [[nodiscard]] long calls() {
    long sum = 0;
    for (const std::string& line : server().lines({"INFO", "commandstats"})) {
      const auto at = line.find(":calls=");
      if (at != std::string::npos) sum += std::stol(line.substr(at + 7));
    }
    return sum;
  }

  // What it costs the server that a leader is followed by the first of so many.
  long cost_of_hand_over(int followers) {
    const std::size_t before = leaders().size();
    const Member leader = join("leader");
    EXPECT_TRUE(until_leads(leader));
    Members members;
    const auto store = std::make_shared<FaultyStore>(connect());
    add(members, {store}, followers);
    EXPECT_TRUE(until_all(members, [](const auto& m) { return m.role() == Role::follower; }));
    run_for(lease());
    const std::uint64_t bids = store->count(Verb::campaign);
    const long calls_before = calls();
    leader->stop();
    EXPECT_TRUE(run_until([&] { return leaders().size() == before + 2; }));
    const long cost = calls() - calls_before;
    EXPECT_EQ(leaders().back(), "member 0");
    run_for(2 * lease());
    EXPECT_EQ(leaders().size(), before + 2);  // exactly one winner
    // Nor does anybody come afterwards: the r-th in line looks every r leases, as ever.
    EXPECT_LE(store->count(Verb::campaign) - bids, 20U);
    EXPECT_TRUE(std::holds_alternative<Done>(end(*connect())));
    EXPECT_TRUE(until_all(members, [](const auto& m) { return m.role() == Role::stopped; }));
    EXPECT_TRUE(std::holds_alternative<Done>(remove(*connect())));
    return cost;
  }
};

TEST_P(RedisCrowd, P09_AThousandFollowersCostNoMoreThanTen) {
  const long small = cost_of_hand_over(10);
  const long large = cost_of_hand_over(1000);
  // A renewal, or a look of one who waits, may fall into it.
  EXPECT_LE(large, small + 40);
}

TEST_P(RedisCrowd, T11_AThousandAreToldOfTheEndWhileHalfOfThemJoin) {
  std::vector<std::shared_ptr<FaultyStore>> stores;
  for (int i = 0; i < 5; ++i) stores.push_back(std::make_shared<FaultyStore>(connect()));
  Members members;
  add(members, stores, 500);
  // Who has only heard of the leader is a follower, too, but does not stand in line yet.
  ASSERT_TRUE(until_all(members, [](const auto& m) { return m.leads() || m.place() > 0; }));
  const auto admin = connect();
  ASSERT_EQ(inspect(*admin).candidates.size(), 499U);
  const Term term = inspect(*admin).last_term;
  add(members, stores, 250);  // they are on their way to the server when the end is
  EXPECT_TRUE(std::holds_alternative<Done>(end(*admin)));
  add(members, stores, 250);
  ASSERT_TRUE(
      until_all(members, [](const auto& m) { return m.template count<core::HasStopped>() == 1; }));
  for (const Member& each : members) {
    EXPECT_TRUE(each->last<core::HasStopped>()->election_ended) << each->id();
  }
  EXPECT_EQ(leaders().size(), 1U);
  // Nothing is left but the record, which says that it is over, and how high terms have been.
  EXPECT_EQ(server().lines({"KEYS", "*"}), std::vector<std::string>{"conclave:{election}"});
  EXPECT_EQ(server().command({"HGET", "conclave:{election}", "term"}).text,
            std::to_string(term.value));
}

INSTANTIATE_TEST_SUITE_P(redis, RedisCrowd, ::testing::Values(MakeFixture{make_patient_rig}),
                         [](const auto&) { return "redis"; });

}  // namespace
}  // namespace conclave::conformance
