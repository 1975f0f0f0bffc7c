// R03: locks of other applications that look like ours at a glance.
#include "conformance/conformance.hpp"
#include "conformance/postgres_own_rig.hpp"

namespace conclave::conformance {
namespace {

template <bool strict, bool tables>
std::unique_ptr<StoreFixture> make_rig() {
  return std::make_unique<OldServerFixture>(PostgresMode::advisory, strict, tables);
}

class PostgresKeys : public Conformance {
 protected:
  [[nodiscard]] servers::PostgresServer& server() {
    return static_cast<PostgresFixture&>(fixture()).server();
  }
  [[nodiscard]] bool has_tables() {
    return static_cast<PostgresFixture&>(fixture()).options(lease()).tables;
  }

  // All 64 bits of the lock by which the leader is known, and its backend.
  struct Lock {
    std::string key;
    std::string pid;
  };
  [[nodiscard]] Lock lock_of_leader() {
    const std::string key = has_tables()
                                ? server().value("select life from conclave_election")
                                : server().value("select hashtextextended('conclave election', 0)");
    const auto rows = server().exec(
        "select pid from pg_locks where locktype = 'advisory' and objsubid = 1 and granted and "
        "mode = 'ExclusiveLock' and classid::bigint << 32 | objid::bigint = $1 and database = "
        "(select oid from pg_database where datname = 'postgres')",
        {key});
    EXPECT_EQ(rows.size(), 1U);
    return {key, rows.empty() ? "" : rows[0][0].value()};
  }

  // Each shares something with the key, and none is it; the last is as that which tells the term of
  // who holds the key, where there are no tables.
  void take_similar(const std::string& key) {
    stranger_.exec(
        "select pg_advisory_lock($1::bigint # (1::bigint << 40)), "
        "pg_advisory_lock($1::bigint & 4294967295), pg_advisory_lock($1::bigint # 1), "
        "pg_advisory_lock(($1::bigint >> 32)::int, ($1::bigint & 4294967295)::bit(32)::int), "
        "pg_advisory_lock(($1::bigint & 4294967295)::bit(32)::int, ($1::bigint >> 32)::int), "
        "pg_advisory_lock(hashtext('conclave election'), 5)",
        {key});
    neighbour_.exec(
        "select pg_advisory_lock($1), pg_advisory_lock(hashtext('conclave election'), 5)", {key});
  }

  void expect_leader(const Member& leader) {
    const Record seen = inspect(*witness_).leader.value_or(Record{});
    EXPECT_EQ(seen.term, leader->term());
    EXPECT_EQ(seen.leader, has_tables() ? leader->id() : "session " + lock_of_leader().pid);
  }

 private:
  [[nodiscard]] servers::PostgresClient make_neighbour() {
    server().exec("create database neighbour");
    return servers::PostgresClient(
        "postgres://conclave@127.0.0.1:" + std::to_string(server().port()) + "/neighbour");
  }

  servers::PostgresClient stranger_ = server().client();
  servers::PostgresClient neighbour_ = make_neighbour();
  const std::shared_ptr<Store> witness_ = connect();
};

TEST_P(PostgresKeys, R03_LocksThatShareNumbersAreNotTakenForOurs) {
  Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  const Term term = first->term();
  take_similar(lock_of_leader().key);
  expect_leader(first);
  Member second = join("b");
  ASSERT_EQ(second->role(), Role::follower);
  const std::size_t renewed = first->count<core::Extended>();
  ASSERT_TRUE(run_until([&] { return first->count<core::Extended>() >= renewed + 3; }));
  EXPECT_EQ(first->term(), term);
  expect_leader(first);

  // The death of the holder is seen, whoever has locks like its own.
  first = {};
  ASSERT_TRUE(until_leads(second));
  EXPECT_GT(second->term(), term);
  if (has_tables()) take_similar(lock_of_leader().key);
  expect_leader(second);

  // So is that there is no holder, and the place is taken.
  second->stop();
  ASSERT_TRUE(until_stopped(second));
  EXPECT_EQ(inspect(*connect()).leader, std::nullopt);
  const Member third = join("c");
  ASSERT_TRUE(until_leads(third));
  expect_leader(third);
}

INSTANTIATE_TEST_SUITE_P(advisory, PostgresKeys,
                         ::testing::Values(MakeFixture{make_rig<false, true>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(strict, PostgresKeys, ::testing::Values(MakeFixture{make_rig<true, true>}),
                         [](const auto&) { return "strict"; });
INSTANTIATE_TEST_SUITE_P(locks, PostgresKeys,
                         ::testing::Values(MakeFixture{make_rig<false, false>}),
                         [](const auto&) { return "locks"; });

}  // namespace
}  // namespace conclave::conformance
