// What is kept of an election: the fields that docs/stores/redis.md lists, and for whom.
#include <algorithm>

#include "conformance/conformance.hpp"
#include "conformance/redis_rig.hpp"

namespace conclave::conformance {
namespace {

std::unique_ptr<StoreFixture> make_shared_rig() { return std::make_unique<RedisFixture>(); }

constexpr auto key = "conclave:{election}";

class RedisRecord : public Conformance {
 protected:
  [[nodiscard]] servers::RedisServer& server() {
    return static_cast<RedisFixture&>(fixture()).server();
  }
  [[nodiscard]] std::vector<std::string> fields() {
    auto all = server().lines({"HKEYS", key});
    std::sort(all.begin(), all.end());
    return all;
  }
};

TEST_P(RedisRecord, T12_HoldsWhatIsDocumentedAndStaysSmall) {
  const auto store = connect();
  const auto plain = [](const char* candidate, std::uint64_t attempt) {
    Bid each = bid(candidate, attempt);
    each.metadata.clear();
    return each;
  };
  const std::vector<std::string> held{"attempt", "format", "grant", "granted", "leader", "lease",
                                      "renewed", "server", "stamp", "state",   "term"};
  std::vector<std::string> passed_on = held;
  passed_on.emplace_back("vacated");
  const Term term = granted(*store, plain("a", 1)).term;
  EXPECT_EQ(fields(), held);
  resign(*store, resignation(plain("a", 1), term, true));
  EXPECT_EQ(fields(), passed_on);
  const Bid next = bid("b", 2);
  const Term later = granted(*store, next).term;
  passed_on.insert(std::find(passed_on.begin(), passed_on.end(), "renewed"), "metadata");
  EXPECT_EQ(fields(), passed_on);
  resign(*store, resignation(next, later, true));
  static_cast<void>(granted(*store, plain("c", 3)));
  std::erase(passed_on, "metadata");
  EXPECT_EQ(fields(), passed_on);
  // In one piece. As a table it would take three times the room.
  EXPECT_EQ(server().command({"OBJECT", "ENCODING", key}).text, "listpack");
  EXPECT_LT(server().command({"MEMORY", "USAGE", key}).number, 450);
}

TEST_P(RedisRecord, P13_NoVerbTouchesOneOfANewerVersion) {
  const auto store = connect();
  const Term term = granted(*store, bid("a", 1)).term;
  server().command({"HSET", key, "format", "2"});
  const std::string before = server().command({"DUMP", key}).text;
  const auto expect_newer = [](const auto& answer) {
    const auto* const refused = std::get_if<Refused>(&answer);
    ASSERT_NE(refused, nullptr) << answer.index();
    EXPECT_EQ(refused->error.code, ErrorCode::unsupported);
    EXPECT_NE(refused->error.message.find("newer"), std::string::npos) << refused->error.message;
  };
  expect_newer(campaign(*store, bid("b", 2)));
  expect_newer(campaign(*store, bid("a", 1)));
  expect_newer(renew(*store, renewal(bid("a", 1), term)));
  expect_newer(resign(*store, resignation(bid("a", 1), term, true)));
  expect_newer(end(*store));
  expect_newer(remove(*store));
  EXPECT_EQ(server().command({"DUMP", key}).text, before);
}

TEST_P(RedisRecord, StoresWithOtherPrefixesDoNotMeet) {
  RedisOptions options = static_cast<RedisFixture&>(fixture()).options(lease());
  options.prefix = "elsewhere:";
  const auto elsewhere = make_redis_store(options);
  const auto here = connect();
  static_cast<void>(granted(*here, bid("a", 1)));
  const Term term = granted(*elsewhere, bid("b", 2)).term;
  EXPECT_EQ(inspect(*here).leader.value_or(Record{}).leader, "a");
  EXPECT_EQ(inspect(*elsewhere).leader.value_or(Record{}).leader, "b");
  resign(*elsewhere, resignation(bid("b", 2), term, true));
  EXPECT_EQ(inspect(*here).leader.value_or(Record{}).leader, "a");
}

// More than travel in one request: each hears its own answer.
TEST_P(RedisRecord, R02_OneLossAmongSeveralHundredRenewalsIsThatOnes) {
  const auto store = connect();
  std::vector<Renewal> due;
  for (std::uint64_t i = 0; i < 250; ++i) {
    Bid each = bid("a", i + 1);
    each.election = "election " + std::to_string(i);
    due.push_back(renewal(each, granted(*store, each).term));
  }
  const std::size_t lost = 149;
  ASSERT_TRUE(std::holds_alternative<Done>(end(*store, due[lost].election)));
  const auto answers = renew_all(*store, due);
  for (std::size_t i = 0; i < due.size(); ++i) {
    EXPECT_EQ(std::holds_alternative<Renewed>(answers[i]), i != lost) << i;
  }
  EXPECT_TRUE(std::holds_alternative<TermLost>(answers[lost]));
}

INSTANTIATE_TEST_SUITE_P(redis, RedisRecord, ::testing::Values(MakeFixture{make_shared_rig}),
                         [](const auto&) { return "redis"; });

}  // namespace
}  // namespace conclave::conformance
