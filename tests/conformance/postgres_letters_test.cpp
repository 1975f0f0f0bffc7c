// Letters that somebody else has written: they are looked after, not believed.
#include "conformance/conformance.hpp"
#include "conformance/postgres_own_rig.hpp"
#include "stores/postgres/texts.hpp"

namespace conclave::conformance {
namespace {

template <PostgresMode mode>
std::unique_ptr<StoreFixture> make_rig() {
  return std::make_unique<OldServerFixture>(mode);
}

class PostgresLetters : public Conformance {
 protected:
  [[nodiscard]] PostgresFixture& rig() { return static_cast<PostgresFixture&>(fixture()); }
  [[nodiscard]] servers::PostgresServer& server() { return rig().server(); }
  void send(const std::string& letter) {
    server().exec("select pg_notify($1, $2)",
                  {postgres::channel_of("\"conclave_election\"", "election"), letter});
  }
};

TEST_P(PostgresLetters, R11_DoNotEndATerm) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Member follower = join("b");
  for (const std::string word : {"abandoned ", "released "}) {
    const std::string letter = word + std::to_string(leader->term().value) + " election";
    send(letter);
    run_for(lease());
    EXPECT_EQ(leader->count<core::Lost>(), 0U) << letter;
  }
  leader->stop();
  EXPECT_TRUE(until_leads(follower));
}

TEST_P(PostgresLetters, R11_DoNotRaiseTheTerm) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join("b");
  for (const char* const number : {"18446744073709551615", "9223372036854775807"}) {
    send("released " + std::string(number) + " election");
  }
  run_for(lease());
  EXPECT_EQ(leader->count<core::Lost>(), 0U);
  leader->stop();
  ASSERT_TRUE(until_leads(follower));
  EXPECT_LT(follower->term().value, 2 * term.value);
}

// Two whose search paths begin with other schemas, in one database: NOTIFY knows no schemas.
TEST_P(PostgresLetters, OfAnotherSchemaOfTheSearchPathChangeNothing) {
  server().exec("create schema elsewhere");
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  PostgresOptions options = rig().options(lease());
  options.url = "host=" + server().unix_folder() + " port=" + std::to_string(server().port()) +
                " user=conclave dbname=postgres options='-c search_path=elsewhere'";
  const auto elsewhere = make_postgres_store(options);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const Term term = granted(*elsewhere, bid("b", i)).term;
    EXPECT_GT(term, leader->term());
    resign(*elsewhere, resignation(bid("b", i), term, true));
    run_for(lease() / 4);
    EXPECT_EQ(leader->count<core::Lost>(), 0U);
  }
  EXPECT_EQ(server().value("select count(*) from elsewhere.conclave_election"), "1");
}

INSTANTIATE_TEST_SUITE_P(advisory, PostgresLetters,
                         ::testing::Values(MakeFixture{make_rig<PostgresMode::advisory>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresLetters,
                         ::testing::Values(MakeFixture{make_rig<PostgresMode::lease>}),
                         [](const auto&) { return "lease"; });

}  // namespace
}  // namespace conclave::conformance
