// Hand-overs: a mark that a crash of the server forgets, and who goes first.
#include <atomic>

#include "conformance/postgres_faults.hpp"
#include "stores/postgres/texts.hpp"

namespace conclave::conformance {
namespace {

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
  void tell_released(Term term) {
    server().exec("select pg_notify($1, $2)",
                  {postgres::channel_of("\"conclave_election\"", "election"),
                   "released " + std::to_string(term.value) + " election"});
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
  EXPECT_EQ(std::holds_alternative<Renewed>(renewed), outlives_session());
}

TEST_P(PostgresHandover, WhoWasOutrunLetsOthersGoFirst) {
  const auto store = connect();
  const auto place_of = [&](std::uint64_t number) { return bid("b", number); };
  std::atomic<int> told = 0;
  on(*store, [&] {
    store->observe("election", "b", [&](const Observation& what) {
      const auto* const vacant = std::get_if<Vacant>(&what);
      if (vacant != nullptr && vacant->vacancy == Vacancy::released) told += 1;
    });
  });
  const auto rival = connect();
  const Bid theirs = bid("a", 1);
  const Term term = granted(*rival, theirs).term;
  ASSERT_TRUE(held(*store, place_of(2)).record);
  auto quicker = server().client();
  resign(*rival, resignation(theirs, term, true));
  ASSERT_TRUE(run_until([&] { return told == 1; }));
  quicker.exec("begin");
  quicker.exec("select from conclave_election for update");
  const Held late = held(*store, place_of(2));
  EXPECT_FALSE(late.record);
  EXPECT_GT(late.look_again_in, Duration::zero());
  quicker.exec("rollback");

  tell_released({});  // as far as is known here, nobody has led since
  ASSERT_TRUE(run_until([&] { return told >= 2; }));
  const Held yields = held(*store, place_of(2));
  EXPECT_FALSE(yields.record) << "it is free";
  EXPECT_LT(yields.look_again_in, lease() / 32);
  EXPECT_GT(granted(*store, place_of(2)).term, term) << "nobody else wanted it";
}

INSTANTIATE_TEST_SUITE_P(advisory, PostgresHandover,
                         ::testing::Values(MakeFixture{make_advisory<OwnPostgresFixture>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresHandover,
                         ::testing::Values(MakeFixture{make_lease<OwnPostgresFixture>}),
                         [](const auto&) { return "lease"; });
INSTANTIATE_TEST_SUITE_P(strict, PostgresHandover,
                         ::testing::Values(MakeFixture{make_strict<OwnPostgresFixture>}),
                         [](const auto&) { return "strict"; });

}  // namespace
}  // namespace conclave::conformance
