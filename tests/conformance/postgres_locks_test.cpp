// Where nobody may make tables: elections by locks alone (tables=false).
#include <future>

#include <future>
#include <thread>

#include "conformance/conformance.hpp"
#include "conformance/postgres_rig.hpp"
#include "stores/postgres/shape.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;

const servers::PostgresUser modest_user{"modest", "no rights but to connect"};

// Other tests leave tables in the database that they share.
struct OwnServer {
  servers::PostgresServer own{{.users = {modest_user}}};
};
class LocksFixture : private OwnServer, public PostgresFixture {
 public:
  LocksFixture() : PostgresFixture(PostgresMode::advisory, false, own, usual_lease, false) {}
};
std::unique_ptr<StoreFixture> make_rig() { return std::make_unique<LocksFixture>(); }

class PostgresLocks : public Conformance {
 protected:
  [[nodiscard]] PostgresFixture& rig() { return static_cast<PostgresFixture&>(fixture()); }

  [[nodiscard]] PostgresOptions modest() {
    PostgresOptions options = rig().options(lease());
    options.url = rig().server().url(modest_user);
    return options;
  }
  [[nodiscard]] Member join_modestly(const std::string& id) {
    Member member = make_on(std::make_shared<FaultyStore>(make_postgres_store(modest())), id);
    member->start();
    EXPECT_TRUE(run_until([&] { return member->leads() || member->role() == Role::follower; }));
    return member;
  }
  // Who bids, and who only looks, in one sentence.
  Error expect_refused(Store& store, const std::string& says) {
    const auto campaigned = campaign(store, bid("b", 1));
    const auto* const refused = std::get_if<Unknown>(&campaigned);
    std::promise<InspectAnswer> answered;
    store.executor().post([&] {
      store.inspect("election", [&](const InspectAnswer& said) { answered.set_value(said); });
    });
    const auto looked = answered.get_future().get();
    const auto* const unseen = std::get_if<Unknown>(&looked);
    EXPECT_NE(refused, nullptr);
    EXPECT_NE(unseen, nullptr) << "nobody was seen to lead";
    if (refused == nullptr || unseen == nullptr) return {};
    EXPECT_EQ(refused->error.message, unseen->error.message);
    EXPECT_NE(refused->error.message.find(says), std::string::npos) << refused->error.message;
    EXPECT_EQ(refused->error.code, ErrorCode::invalid_state);
    return refused->error;
  }
  // With every commit. None of that name is there.
  void wait_for(const std::string& standby) {
    rig().server().exec("alter system set synchronous_standby_names = '" + standby + "'");
    rig().server().exec("select pg_reload_conf()");
    while (rig().server().value("show synchronous_standby_names") != standby) continue;
  }
  [[nodiscard]] std::size_t tables() {
    return rig().server().exec("select from pg_tables where tablename like 'conclave%'").size();
  }
};

TEST_P(PostgresLocks, ElectWithoutAnyRight) {
  Member first = join_modestly("a");
  ASSERT_TRUE(until_leads(first));
  const Member second = join_modestly("b");
  const Member third = join_modestly("c");
  const Term term = first->term();
  EXPECT_TRUE(run_until([&] { return second->leader().starts_with("session "); }));
  EXPECT_EQ(inspect(*second.faults).leader.value_or(Record{}).term, term);
  run_for(2 * lease());
  EXPECT_EQ(first->term(), term);

  first->resign();
  ASSERT_TRUE(run_until([&] { return second->leads() || third->leads(); }));
  const Member& next = second->leads() ? second : third;
  EXPECT_GT(next->term(), term);
  EXPECT_EQ(tables(), 0U);
}

TEST_P(PostgresLocks, AreFreeWhenTheirHolderDies) {
  Member first = join_modestly("a");
  ASSERT_TRUE(until_leads(first));
  const Member second = join_modestly("b");
  const Term term = first->term();
  first = {};
  ASSERT_TRUE(until_leads(second));
  EXPECT_GT(second->term(), term);
}

TEST_P(PostgresLocks, HaveTermsThatSurviveACrashOfTheServer) {
  Term last{};
  for (std::uint64_t i = 1; i <= 5; ++i) {
    const auto store = connect();
    const Term term = granted(*store, bid("a", i)).term;
    EXPECT_GT(term, last);
    last = term;
    rig().server().stop_immediately();
    rig().server().start();
  }
}

TEST_P(PostgresLocks, AreOneAttemptsAlone) {
  const auto store = make_postgres_store(modest());
  const Granted grant = granted(*store, bid("a", 1));
  EXPECT_EQ(granted(*store, bid("a", 1)).term, grant.term) << "the same attempt again";
  EXPECT_EQ(held(*store, bid("b", 2)).record.value_or(Record{}).term, grant.term)
      << "another one of this process";
  EXPECT_TRUE(std::holds_alternative<Gone>(resign(*store, resignation(bid("b", 2), {}, true))));
  EXPECT_TRUE(std::holds_alternative<Renewed>(renew(*store, renewal(bid("a", 1), grant.term))));
  EXPECT_TRUE(std::holds_alternative<TermLost>(
      renew(*store, renewal(bid("a", 1), Term{grant.term.value + 1}))));
  EXPECT_TRUE(
      std::holds_alternative<Done>(resign(*store, resignation(bid("a", 1), grant.term, true))));
  EXPECT_EQ(inspect(*store).leader, std::nullopt);
  EXPECT_GT(granted(*store, bid("b", 3)).term, grant.term);
}

// The lock is seen before the server has told us that it is ours, here for as long as it waits for
// a standby. A term that was seen is none to begin with.
TEST_P(PostgresLocks, AreNotToldAsSomebodyElsesBeforeTheirAnswerIsThere) {
  const auto store = connect();
  static_cast<void>(inspect(*store));  // it is connected
  wait_for("nobody");
  std::optional<CampaignAnswer> answer;
  bool is_told = false;
  on(*store, [&] {
    store->campaign(bid("a", 1), [&](CampaignAnswer with) {
      answer = std::move(with);
      fixture().changed();
    });
  });
  while (!inspect(*store).leader) continue;
  on(*store, [&] {
    store->observe("election", "a", [&](const Observation& what) {
      is_told = is_told || std::holds_alternative<Record>(what);
    });
  });
  static_cast<void>(inspect(*store));  // looks come after one another
  static_cast<void>(inspect(*store));
  EXPECT_FALSE(is_told);
  wait_for("");
  ASSERT_TRUE(run_until([&] { return answer.has_value(); }));
  const Granted grant = granted(*store, bid("a", 1));
  EXPECT_EQ(inspect(*store).leader.value_or(Record{}).term, grant.term);
}

// An advisory lock outlives the statement that took it and was undone: here at its last step, the
// letters, which somebody else keeps it from.
TEST_P(PostgresLocks, AreNotLeftBehindByABidThatFailed) {
  for (const bool bids_again : {true, false}) {
    const auto store = connect();
    static_cast<void>(inspect(*store));  // it is connected
    wait_for("nobody");
    auto writer = std::async(std::launch::async, [client = rig().server().client()]() mutable {
      client.exec("select pg_notify('x', pg_logical_emit_message(true, 'x', 'y')::text)");
    });
    while (rig().server().backends("wait_event = 'SyncRep'").empty()) std::this_thread::yield();
    const auto failed = campaign(*store, bid("a", 1));
    EXPECT_TRUE(std::holds_alternative<Unknown>(failed));
    while (!rig().server().backends("wait_event_type = 'Lock'").empty()) std::this_thread::yield();
    wait_for("");
    writer.get();
    std::optional<Term> term;
    if (bids_again) term = granted(*store, bid("a", 1)).term;
    EXPECT_TRUE(std::holds_alternative<Done>(resign(*store, resignation(bid("a", 1), term, true))));
    const auto other = connect();
    const Term last = granted(*other, bid("b", 1)).term;
    EXPECT_TRUE(std::holds_alternative<Done>(resign(*other, resignation(bid("b", 1), last, true))));
  }
}

TEST_P(PostgresLocks, KeepNothingThatCouldBeEnded) {
  const auto store = make_postgres_store(modest());
  for (const Answer& answer : {end(*store), remove(*store)}) {
    const auto* const refused = std::get_if<Refused>(&answer);
    ASSERT_NE(refused, nullptr);
    EXPECT_EQ(refused->error.code, ErrorCode::unsupported);
    EXPECT_NE(refused->error.message.find("tables"), std::string::npos);
  }
}

// Otherwise those with tables would have a leader, and those without another one.
TEST_P(PostgresLocks, AreNotMixedWithTables) {
  const auto alone = make_postgres_store(modest());
  static_cast<void>(granted(*alone, bid("a", 1)));
  PostgresOptions with_tables = rig().options(lease());
  with_tables.tables = true;
  const auto tabled = make_postgres_store(with_tables);
  expect_refused(*tabled, "has candidates that go by locks alone: all have to write tables=false");
  EXPECT_EQ(tables(), 0U);
}

TEST_P(PostgresLocks, AreRefusedWhereTablesHaveComeMeanwhile) {
  const auto alone = connect();
  servers::PostgresClient maker = rig().server().client();
  maker.exec("begin");
  maker.exec("select pg_advisory_xact_lock(" + std::string(postgres::locks_alone) + ")");
  EXPECT_TRUE(std::holds_alternative<Unknown>(campaign(*alone, bid("a", 1))));
  maker.exec(postgres::statement(postgres::create_tables, postgres::Tables("", "conclave")));
  maker.exec("commit");
  const auto refused = campaign(*alone, bid("a", 1));
  ASSERT_TRUE(std::holds_alternative<Unknown>(refused));
  EXPECT_EQ(std::get<Unknown>(refused).error.code, ErrorCode::invalid_state);
  EXPECT_EQ(rig().server().value("select count(*) from pg_locks where mode = 'ShareLock' and "
                                 "locktype = 'advisory'"),
            "0");
}

TEST_P(PostgresLocks, AreRefusedWhereThereAreTables) {
  PostgresOptions with_tables = rig().options(lease());
  with_tables.tables = true;
  static_cast<void>(granted(*make_postgres_store(with_tables), bid("a", 1)));
  const Error why = expect_refused(*make_postgres_store(modest()), "leave tables=false out");
  EXPECT_FALSE(why.retryable);
}

INSTANTIATE_TEST_SUITE_P(postgres, PostgresLocks, ::testing::Values(MakeFixture{make_rig}),
                         [](const auto&) { return "locks"; });

TEST(PostgresLocksAlone, NeedALockThatEndsWithItsSession) {
  for (const std::string rest : {"mode=lease", "strict=true"}) {
    PostgresOptions options;
    options.url = "postgres://localhost/postgres?tables=false&" + rest;
    try {
      static_cast<void>(make_postgres_store(options));
      ADD_FAILURE() << rest;
    } catch (const std::invalid_argument& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with("tables: ")) << error.what();
    }
  }
}

}  // namespace
}  // namespace conclave::conformance
