// Something that is not ours is under a key of an election, or a record is damaged: nothing is
// deleted, and it costs nobody more than it must.
#include "conformance/redis_faults.hpp"
#include "stores/redis/keys.hpp"

namespace conclave::conformance {
namespace {

std::unique_ptr<StoreFixture> make_shared_rig() { return std::make_unique<RedisFixture>(); }

using Commands = std::vector<servers::RedisCommand>;

class RedisForeign : public RedisFaults {
 protected:
  static inline const std::string key = record;
  static inline const std::string queue = redis::queue_key(key);
  static inline const std::string waiting = redis::waiting_key(key);
  static inline const std::string metadata = redis::metadata_key(key);

  template <typename Answered>
  static void expect_refused(const Answered& answer) {
    const auto* const refused = std::get_if<Refused>(&answer);
    ASSERT_NE(refused, nullptr) << answer.index();
    EXPECT_EQ(refused->error.code, ErrorCode::corrupt);
    EXPECT_NE(refused->error.message.find(key), std::string::npos) << refused->error.message;
  }
  template <typename Wanted, typename Answered>
  static void expect_is(const Answered& answer) {
    EXPECT_TRUE(std::holds_alternative<Wanted>(answer)) << answer.index();
  }

  InspectAnswer inspected(Store& store) {
    const auto answered = std::make_shared<std::optional<InspectAnswer>>();  // the loop's
    on(store, [&] {
      store.inspect("election", [this, answered](InspectAnswer answer) {
        *answered = std::move(answer);
        fixture().changed();
      });
    });
    EXPECT_TRUE(run_until([&] { return answered->has_value(); }));
    return answered->value_or(InspectAnswer{});
  }

  void put(const servers::RedisCommand& command) {
    server().command({"DEL", command[1]});
    server().command(command);
  }
};

TEST_P(RedisForeign, R02_NoVerbTouchesWhatIsNoRecord) {
  const auto store = connect();
  for (const auto& command : Commands{
           {"SET", key, "precious"}, {"HSET", key, "precious", "1"}, {"RPUSH", key, "precious"}}) {
    SCOPED_TRACE(command[0]);
    server().command({"DEL", key});
    const Granted grant = granted(*store, bid("a", 1));
    put(command);
    const std::string before = server().command({"DUMP", key}).text;
    expect_refused(campaign(*store, bid("b", 2)));
    expect_refused(renew(*store, renewal(bid("a", 1), grant.term)));
    expect_refused(resign(*store, resignation(bid("a", 1), grant.term, true)));
    expect_refused(end(*store));
    expect_refused(remove(*store));
    EXPECT_EQ(server().command({"DUMP", key}).text, before);
  }
}

// It says that it is a record of ours, but nobody can know which terms were granted.
TEST_P(RedisForeign, R02_NoVerbTouchesADamagedRecord) {
  const auto store = connect();
  for (const auto& damage : Commands{{"HSET", key, "term", "abc"},
                                     {"HSET", key, "term", ""},
                                     {"HDEL", key, "term"},
                                     {"HSET", key, "state", "precious"},
                                     {"HDEL", key, "state"}}) {
    SCOPED_TRACE(damage[0] + " " + damage[2]);
    server().command({"DEL", key});
    const Granted grant = granted(*store, bid("a", 1));
    server().command(damage);
    const std::string before = server().command({"DUMP", key}).text;
    expect_refused(campaign(*store, bid("b", 2)));
    expect_refused(renew(*store, renewal(bid("a", 1), grant.term)));
    expect_refused(resign(*store, resignation(bid("a", 1), grant.term, true)));
    expect_refused(inspected(*store));
    expect_refused(end(*store));
    expect_refused(remove(*store));
    EXPECT_EQ(server().command({"DUMP", key}).text, before);
  }
}

// Who leads goes on, hands over and ends; whoever would have to stand in line is told.
TEST_P(RedisForeign, R02_NoVerbTouchesWhatIsNoLine) {
  const auto store = connect();
  for (const auto& command : Commands{{"SET", queue, "precious"},
                                      {"HSET", queue, "precious", "1"},
                                      {"RPUSH", queue, "precious"},
                                      {"SET", waiting, "precious"},
                                      {"ZADD", waiting, "1", "precious"},
                                      {"RPUSH", waiting, "precious"}}) {
    SCOPED_TRACE(command[0] + " " + command[1]);
    server().command({"FLUSHALL"});
    const Granted grant = granted(*store, bid("a", 1));
    put(command);
    const std::string before = server().command({"DUMP", command[1]}).text;
    expect_refused(campaign(*store, bid("b", 2)));
    expect_refused(resign(*store, resignation(bid("b", 2), {}, false)));
    expect_is<Renewed>(renew(*store, renewal(bid("a", 1), grant.term)));
    expect_is<Done>(resign(*store, resignation(bid("a", 1), grant.term, true)));
    expect_is<Done>(end(*store));
    expect_is<Done>(remove(*store));
    EXPECT_EQ(server().command({"DUMP", command[1]}).text, before);
    // Nobody stands in half of a line.
    EXPECT_EQ(server().command({"EXISTS", queue, waiting}).number, 1);
  }
}

TEST_P(RedisForeign, R02_NoVerbTouchesWhatIsNoMetadataAndNoneNeedsThem) {
  const auto store = connect();
  for (const auto& command : Commands{{"HSET", metadata, "precious", "1"},
                                      {"RPUSH", metadata, "precious"},
                                      {"ZADD", metadata, "1", "precious"}}) {
    for (const bool from_the_beginning : {true, false}) {
      SCOPED_TRACE(command[0] + (from_the_beginning ? " before" : " after") + " the grant");
      server().command({"FLUSHALL"});
      if (from_the_beginning) put(command);
      const Granted grant = granted(*store, bid("a", 1));
      put(command);
      const std::string before = server().command({"DUMP", metadata}).text;
      EXPECT_EQ(held(*store, bid("b", 2)).record.value_or(Record{}).leader, "a");
      expect_is<Renewed>(renew(*store, renewal(bid("a", 1), grant.term)));
      const Inspection seen = inspect(*store);
      EXPECT_EQ(seen.leader.value_or(Record{}).leader, "a");
      EXPECT_EQ(seen.leader.value_or(Record{}).metadata, "");
      EXPECT_EQ(seen.candidates.size(), 1U);
      expect_is<Done>(resign(*store, resignation(bid("a", 1), grant.term, true)));
      const Granted next = granted(*store, bid("b", 2));
      EXPECT_EQ(next.vacancy, Vacancy::released);
      expect_is<Done>(resign(*store, resignation(bid("b", 2), next.term, true)));
      expect_is<Done>(end(*store));
      expect_is<Done>(remove(*store));
      EXPECT_EQ(server().command({"DUMP", metadata}).text, before);
    }
  }
}

TEST_P(RedisForeign, R02_WhoObservesIsToldTheLeaderAlsoWithForeignMetadata) {
  const auto store = connect();
  static_cast<void>(granted(*store, bid("a", 1)));
  put({"HSET", metadata, "precious", "1"});
  const auto leader = std::make_shared<std::string>();  // belongs to the loop
  const auto watcher = connect();
  on(*watcher, [&] {
    watcher->observe("election", "watcher", [this, leader](const Observation& what) {
      if (const auto* shown = std::get_if<Record>(&what)) *leader = shown->leader;
      fixture().changed();
    });
  });
  EXPECT_TRUE(run_until([&] { return *leader == "a"; }));
}

TEST_P(RedisForeign, R02_ForeignMetadataKeepNobodyFromTakingOver) {
  Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  put({"HSET", metadata, "precious", "1"});
  const Member follower = join("b");
  ASSERT_TRUE(until_follows(follower, "a"));
  leader = {};  // it crashes
  ASSERT_TRUE(until_leads(follower));
  EXPECT_GT(follower->term(), term);
  EXPECT_EQ(follower->count<core::Failed>(), 0U);
}

TEST_P(RedisForeign, R02_ADamagedRecordCostsTheOthersInItsRequestNothing) {
  const auto store = connect();
  std::uint64_t attempt = 0;
  for (const auto& [word, rest] :
       std::vector<std::pair<std::string, servers::RedisCommand>>{{"SET", {"precious"}},
                                                                  {"HSET", {"stamp", "x"}},
                                                                  {"HSET", {"format", "2"}},
                                                                  {"HDEL", {"term"}},
                                                                  {"HDEL", {"format"}}}) {
    SCOPED_TRACE(word + " " + rest[0]);
    std::vector<Renewal> due;
    for (int i = 0; i < 3; ++i) {
      Bid each = bid("a", ++attempt);
      each.election = "election " + std::to_string(attempt);
      due.push_back(renewal(each, granted(*store, each).term));
    }
    const std::string damaged = redis::record_key("conclave:", due[1].election);
    servers::RedisCommand damage{word, damaged};
    damage.insert(damage.end(), rest.begin(), rest.end());
    server().command(damage);
    const std::string before = server().command({"DUMP", damaged}).text;
    const auto answers = renew_all(*store, due);
    expect_is<Renewed>(answers[0]);
    expect_is<Refused>(answers[1]);
    expect_is<Renewed>(answers[2]);
    EXPECT_EQ(server().command({"DUMP", damaged}).text, before);
    for (const std::size_t i : {0U, 2U}) {
      EXPECT_EQ(inspect(*store, due[i].election).last_term, due[i].term);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(redis, RedisForeign, ::testing::Values(MakeFixture{make_shared_rig}),
                         [](const auto&) { return "redis"; });

}  // namespace
}  // namespace conclave::conformance
