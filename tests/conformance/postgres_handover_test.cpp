// Hand-overs: a mark that a crash of the server forgets, and who goes first.
#include <atomic>

#include "conformance/postgres_faults.hpp"
#include "servers/pgbouncer_server.hpp"
#include "stores/postgres/texts.hpp"

namespace conclave::conformance {
namespace {

// What is asked once has to be answered.
class HandoverFixture : private OwnPostgres, public PostgresFixture {
 public:
  explicit HandoverFixture(PostgresMode mode, bool strict = false)
      : PostgresFixture(mode, strict, own) {}
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
  pause_log_writer();
  resign(*store, resignation(bid("a", 1), first, true));
  const Term second = granted(*store, bid("a", 2)).term;
  server().kill();
  server().start();
  EXPECT_EQ(server().value("select term from conclave_election where name = 'election'"),
            std::to_string(second.value));
}

// Through a pooler the old leader would not notice the crash, and keep the place with the others.
TEST_P(PostgresHandover, AMarkThroughAPoolerIsKept) {
  if (!outlives_session()) GTEST_SKIP() << "there a pooler in transaction mode is refused";
  const servers::PgBouncerServer pooler(server(), servers::PgBouncerMode::transaction);
  PostgresOptions options = rig().options(lease());
  options.url = pooler.url();
  const auto store = make_postgres_store(std::move(options));
  while (std::holds_alternative<Unknown>(end(*store, "none"))) continue;  // until it is connected
  const Term term = granted(*store, bid("a", 1)).term;
  pause_log_writer();
  resign(*store, resignation(bid("a", 1), term, true));
  server().kill();
  server().start();
  EXPECT_EQ(state(), "released");
}

TEST_P(PostgresHandover, WhoWasOutrunLetsOthersGoFirst) {
  const auto rival = connect();
  const Bid theirs = bid("a", 1);
  const Term term = granted(*rival, theirs).term;
  const auto store = connect();
  const auto place_of = [&](std::uint64_t number) { return bid("b", number); };
  std::atomic<bool> is_held = false;
  std::atomic<int> told = 0;
  on(*store, [&] {
    store->observe("election", "b", [&](const Observation& what) {
      if (std::holds_alternative<Record>(what)) is_held = true;
      if (std::holds_alternative<Vacant>(what)) told += 1;
    });
  });
  ASSERT_TRUE(run_until([&] { return is_held.load(); }));  // from here on only letters are told
  ASSERT_TRUE(held(*store, place_of(2)).record);
  auto quicker = server().client();
  resign(*rival, resignation(theirs, term, true));
  ASSERT_TRUE(run_until([&] { return told == 1; }));
  quicker.exec("begin");
  quicker.exec("select from conclave_election for update");
  const Held late = held(*store, place_of(2));
  EXPECT_FALSE(late.record);
  EXPECT_GT(late.look_again_in, Duration::zero());
  EXPECT_FALSE(held(*store, place_of(2)).record) << "asked in full";
  quicker.exec("rollback");

  tell_released();
  ASSERT_TRUE(run_until([&] { return told == 2; }));
  const Held yields = held(*store, place_of(2));
  EXPECT_FALSE(yields.record) << "it is free";
  EXPECT_LT(yields.look_again_in, lease() / 32);
  tell_released();  // somebody writes letters all the time: that keeps nobody from asking
  ASSERT_TRUE(run_until([&] { return told == 3; }));
  EXPECT_GT(granted(*store, place_of(2)).term, term) << "nobody else wanted it";
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
