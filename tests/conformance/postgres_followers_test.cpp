// Crowds as large as the scenarios say: a thousand who wait for one place, and a thousand who are
// told of its end.
#include <algorithm>

#include "conformance/conformance.hpp"
#include "conformance/postgres_own_rig.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;

// Long enough for a leader to keep its place on a busy machine while so many come.
template <PostgresMode mode>
std::unique_ptr<StoreFixture> make_rig() {
  return std::make_unique<LoggedFixture>(mode, 4s);
}

class PostgresFollowers : public Conformance {
 protected:
  using Members = std::vector<Member>;
  using Stores = std::vector<std::shared_ptr<FaultyStore>>;

  [[nodiscard]] LoggedFixture& rig() { return static_cast<LoggedFixture&>(fixture()); }

  [[nodiscard]] Stores make_stores(int count) {
    Stores stores;
    for (int i = 0; i < count; ++i) stores.push_back(std::make_shared<FaultyStore>(connect()));
    return stores;
  }
  // So many more, all started at once, each on one of those connections.
  void add(Members& members, const Stores& stores, int count) {
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
};

// There is no line on this server: whoever waits asks when the place is free, and once in a lease.
TEST_P(PostgresFollowers, P09_OneOfAThousandFollowsALeaderWhoResigns) {
  constexpr int followers = 1000;
  const Member leader = join("leader");
  ASSERT_TRUE(until_leads(leader));
  const Stores stores = make_stores(5);
  Members members;
  add(members, stores, followers);
  ASSERT_TRUE(until_all(members, [](const auto& m) { return m.role() == Role::follower; }));
  ASSERT_EQ(leaders().size(), 1U);
  run_for(lease());
  const long before = rig().statements();
  leader->stop();
  ASSERT_TRUE(run_until([&] { return leaders().size() == 2; }));
  const std::string winner = leaders().back();
  EXPECT_TRUE(until_all(members, [&](const auto& m) { return m.leads() || m.leader() == winner; }));
  run_for(lease());
  EXPECT_EQ(leaders().size(), 2U) << "exactly one winner";
  EXPECT_LE(rig().statements() - before, 4L * followers) << "with the looks of this lease";
}

TEST_P(PostgresFollowers, T11_AThousandAreToldOfTheEndWhileHalfOfThemJoin) {
  Stores stores = make_stores(5);
  Members members;
  add(members, stores, 500);
  ASSERT_TRUE(
      until_all(members, [](const auto& m) { return m.leads() || m.role() == Role::follower; }));
  auto admin = connect();
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
  EXPECT_EQ(rig().server().value("select ended || ' ' || term from conclave_election"),
            "true " + std::to_string(term.value));
  EXPECT_EQ(inspect(*admin).leader, std::nullopt);
  EXPECT_TRUE(std::holds_alternative<Done>(remove(*admin, "election", Remains::trace)));

  // With the connections goes all that was kept for them.
  members.clear();
  stores.clear();
  admin.reset();
  while (!rig().server().backends("application_name = 'conclave'").empty()) run_for(1ms);
  EXPECT_EQ(rig().server().value("select count(*) from pg_locks where locktype = 'advisory'"), "0");
}

INSTANTIATE_TEST_SUITE_P(advisory, PostgresFollowers,
                         ::testing::Values(MakeFixture{make_rig<PostgresMode::advisory>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresFollowers,
                         ::testing::Values(MakeFixture{make_rig<PostgresMode::lease>}),
                         [](const auto&) { return "lease"; });

}  // namespace
}  // namespace conclave::conformance
