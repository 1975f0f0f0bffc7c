// R11: others write to the row of an election, and to the channel on which it is told of.
#include "conformance/conformance.hpp"
#include "conformance/postgres_own_rig.hpp"
#include "servers/pgbouncer_server.hpp"
#include "stores/postgres/texts.hpp"

namespace conclave::conformance {
namespace {

template <PostgresMode mode>
std::unique_ptr<StoreFixture> make_rig() {
  return std::make_unique<LoggedFixture>(mode);
}

class PostgresNoise : public Conformance {
 protected:
  [[nodiscard]] LoggedFixture& rig() { return static_cast<LoggedFixture&>(fixture()); }

  // How much is asked while nobody does anything but lead and follow.
  [[nodiscard]] long cost_of_rest() {
    const long before = rig().statements();
    run_for(lease());
    return rig().statements() - before;
  }

  void change_row(int times) {
    auto client = rig().server().client();
    for (int i = 0; i < times; ++i) {
      client.exec("update conclave_election set metadata = $1, stamp = stamp + 7",
                  {"noise " + std::to_string(i)});
    }
  }
  // Each as often as that, in transactions of their own.
  void send(const std::vector<std::string>& letters, int times) {
    auto client = rig().server().client();
    const std::string channel = postgres::channel_of("\"conclave_election\"", "election");
    for (int i = 0; i < times; ++i) {
      for (const auto& each : letters) client.exec("select pg_notify($1, $2)", {channel, each});
    }
  }
};

TEST_P(PostgresNoise, R11_NoiseCostsNothingWhenItIsOverAndFailOverWorks) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join("b");
  ASSERT_EQ(follower->role(), Role::follower);
  std::string seen;  // of the row, by who is told of changes
  const auto witness = connect();
  on(*witness, [&] {
    witness->observe("election", "witness", [&](const Observation& what) {
      if (const auto* const record = std::get_if<Record>(&what)) seen = record->metadata;
      fixture().changed();
    });
  });
  ASSERT_TRUE(run_until([&] { return seen == "info of a"; }));
  const long rest = cost_of_rest();

  const long before = rig().statements();
  change_row(200);
  send({"", " ", "nonsense", "released", "held x election",
        "released 99999999999999999999 election", "released 5 another", std::string(7900, 'x')},
       100);
  // These say what was so, or never: who is told looks, or asks for the place, and finds it held.
  const std::string now = std::to_string(term.value);
  const std::vector<std::string> believable{"held " + now + " election", "held 1 election",
                                            "released 1 election", "abandoned 1 election",
                                            "ended " + now + " election"};
  send(believable, 40);
  EXPECT_TRUE(run_until([&] { return seen == "noise 199"; })) << "the noise was not heard";
  EXPECT_EQ(leader->count<core::Lost>(), 0U);
  EXPECT_TRUE(leader->leads());
  EXPECT_FALSE(follower->leads());
  EXPECT_LE(cost_of_rest(), 2 * rest + 10) << "a spin";
  EXPECT_LE(rig().statements() - before, 800) << "more than four for each that is believable";

  EXPECT_EQ(leader->term(), term);
  leader->stop();
  ASSERT_TRUE(until_leads(follower));
  EXPECT_GT(follower->term(), term);
}

// Behind a pooler nobody is told. Who has just seen a change looks often, up to 32 times a lease;
// at rest it is four times.
TEST_P(PostgresNoise, WhoIsNotToldLooksSeldomAtRest) {
  if (rig().options(lease()).mode != PostgresMode::lease) GTEST_SKIP() << "refused there";
  const servers::PgBouncerServer pooler(rig().server(), servers::PgBouncerMode::transaction);
  const auto join_through = [&](const std::string& id) {
    PostgresOptions options = rig().options(lease());
    options.url = pooler.url();
    Member member = make_on(std::make_shared<FaultyStore>(make_postgres_store(options)), id);
    member->start();
    EXPECT_TRUE(run_until([&] { return member->leads() || member->role() == Role::follower; }));
    return member;
  };
  const Member leader = join_through("a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = join_through("b");
  run_for(lease());
  const long rest = cost_of_rest();
  EXPECT_GE(rest, 4) << "the statements are not seen";
  EXPECT_LE(rest, 30) << "of two: to look always often would be 64";
  leader->stop();
  EXPECT_TRUE(until_leads(follower));
}

INSTANTIATE_TEST_SUITE_P(advisory, PostgresNoise,
                         ::testing::Values(MakeFixture{make_rig<PostgresMode::advisory>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresNoise,
                         ::testing::Values(MakeFixture{make_rig<PostgresMode::lease>}),
                         [](const auto&) { return "lease"; });

}  // namespace
}  // namespace conclave::conformance
