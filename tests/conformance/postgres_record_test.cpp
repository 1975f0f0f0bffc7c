// What is kept of an election. P13: rows of a newer version are left alone, and the lease that
// counts is that of the row.
#include <future>

#include "conformance/conformance.hpp"
#include "conformance/postgres_own_rig.hpp"
#include "stores/postgres/texts.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;

template <typename Fixture, PostgresMode mode>
std::unique_ptr<StoreFixture> make_rig() {
  return std::make_unique<Fixture>(mode);
}

class PostgresRecord : public Conformance {
 protected:
  [[nodiscard]] servers::PostgresServer& server() {
    return static_cast<PostgresFixture&>(fixture()).server();
  }
  [[nodiscard]] std::string row() {
    return server().value("select e::text from conclave_election e");
  }
  template <typename Answered>
  static void expect_newer(const Answered& answer) {
    const auto* const refused = std::get_if<Refused>(&answer);
    ASSERT_NE(refused, nullptr) << answer.index();
    EXPECT_EQ(refused->error.code, ErrorCode::unsupported);
    const std::string& text = refused->error.message;
    EXPECT_NE(text.find("newer version"), std::string::npos) << text;
    EXPECT_EQ(text.find(". "), std::string::npos) << text;
  }
};

TEST_P(PostgresRecord, T12_HoldsWhatIsDocumented) {
  const auto store = connect();
  Bid mine = bid("a", 1);
  mine.metadata = R"({"zone": "b"})";
  const Term term = granted(*store, mine).term;
  EXPECT_EQ(
      server().value("select string_agg(column_name, ' ' order by ordinal_position) from "
                     "information_schema.columns where table_name = 'conclave_election'"),
      "name format term state attempt leader metadata kind life stamp lease own_lease vacancy "
      "previous_lease granted vacated ended");
  const bool by_clock = has(Ability::expires);
  EXPECT_EQ(
      server().value("select concat_ws('|', name, format, term, state, attempt, leader, "
                     "metadata, kind, lease / 1000, ended) from conclave_election"),
      "election|1|" + std::to_string(term.value) + "|held|" + postgres::to_text(mine.attempt) +
          R"(|a|{"zone": "b"}|)" + (by_clock ? "lease" : "advisory") + "|" +
          std::to_string(std::chrono::floor<std::chrono::milliseconds>(lease()).count()) + "|f");
  // Whose lease is judged by the clock has a row of its own; whose life is a lock has that.
  EXPECT_EQ(server().value("select count(*) from conclave_session join conclave_election using "
                           "(life)"),
            by_clock ? "1" : "0");
  EXPECT_EQ(server().value("select count(*) from pg_locks join conclave_election on life = "
                           "classid::bigint << 32 | objid::bigint where locktype = 'advisory'"),
            by_clock ? "0" : "1");
}

TEST_P(PostgresRecord, P13_ABidForOneOfANewerVersionIsRefused) {
  const auto store = connect();
  static_cast<void>(granted(*store, bid("a", 1)));
  const auto other = connect();
  for (const std::string state : {"held", "released", "abandoned", "removed", "waiting"}) {
    server().exec("update conclave_election set format = 2, state = $1", {state});
    const std::string before = row();
    expect_newer(campaign(*other, bid("b", 2)));
    expect_newer(campaign(*store, bid("a", 1)));
    EXPECT_EQ(row(), before);
  }
}

TEST_P(PostgresRecord, P13_NoVerbTouchesOneOfANewerVersion) {
  const auto store = connect();
  const Bid mine = bid("a", 1);
  const Term term = granted(*store, mine).term;
  server().exec("update conclave_election set format = 2");
  const std::string before = row();
  EXPECT_TRUE(std::holds_alternative<TermLost>(renew(*store, renewal(mine, term))));
  EXPECT_TRUE(std::holds_alternative<Gone>(resign(*store, resignation(mine, term, true))));
  expect_newer(end(*store));
  expect_newer(remove(*store));
  std::promise<InspectAnswer> seen;
  on(*store, [&] {
    store->inspect("election", [&](InspectAnswer answer) { seen.set_value(std::move(answer)); });
  });
  expect_newer(seen.get_future().get());
  EXPECT_EQ(row(), before);
}

TEST_P(PostgresRecord, P13_ACandidateIsToldOfANewerVersion) {
  static_cast<void>(granted(*connect(), bid("a", 1)));
  server().exec("update conclave_election set format = 2, state = 'released'");
  const std::string before = row();
  const Member member = make("b");
  member->start();
  ASSERT_TRUE(run_until([&] { return member->count<core::Failed>() > 0; }));
  EXPECT_EQ(member->last<core::Failed>()->error.code, ErrorCode::unsupported);
  EXPECT_FALSE(member->leads());
  member->stop();
  ASSERT_TRUE(until_stopped(member));
  EXPECT_EQ(row(), before);
}

// ---------------------------------------------------------------- leases

class PostgresLeases : public Conformance {
 protected:
  // Who leads with one lease falls silent, and who waits has another one. When the other one leads.
  Instant replaced(Duration holders, Duration waiters, Instant& deadline) {
    const Member holder = make_on(faulty(holders), "a");
    holder->start();
    EXPECT_TRUE(until_leads(holder));
    const Member waiter = make_on(faulty(waiters), "b");
    waiter->start();
    EXPECT_TRUE(run_until([&] { return waiter->leader() == "a"; }));
    holder.faults->freeze();
    deadline = holder->deadline();
    EXPECT_TRUE(until_leads(waiter));
    return now();
  }

 private:
  [[nodiscard]] std::shared_ptr<FaultyStore> faulty(Duration lease) {
    return std::make_shared<FaultyStore>(fixture().make_store(lease));
  }
};

// A shorter lease of who waits is no reason to take the place early.
TEST_P(PostgresLeases, P13_ALongerLeaseOfTheHolderIsWaitedFor) {
  Instant deadline{};
  const Instant elected = replaced(6s, 2s, deadline);
  EXPECT_GE(elected, deadline);
}

// Nor a longer one to wait longer: it would be longer than these tests wait for anything.
TEST_P(PostgresLeases, P13_AShorterLeaseOfTheHolderIsEnough) {
  Instant deadline{};
  const Instant elected = replaced(2s, 60s, deadline);
  EXPECT_GE(elected, deadline);
}

INSTANTIATE_TEST_SUITE_P(advisory, PostgresRecord,
                         ::testing::Values(MakeFixture{
                             make_rig<PostgresFixture, PostgresMode::advisory>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresRecord,
                         ::testing::Values(MakeFixture{
                             make_rig<PostgresFixture, PostgresMode::lease>}),
                         [](const auto&) { return "lease"; });
INSTANTIATE_TEST_SUITE_P(advisory, PostgresLeases,
                         ::testing::Values(MakeFixture{
                             make_rig<OldServerFixture, PostgresMode::advisory>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresLeases,
                         ::testing::Values(MakeFixture{
                             make_rig<OldServerFixture, PostgresMode::lease>}),
                         [](const auto&) { return "lease"; });

}  // namespace
}  // namespace conclave::conformance
