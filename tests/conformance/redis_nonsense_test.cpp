// Servers that are none, or have gone mad: each is an error with one sentence, and when they come
// to their senses the election goes on.
#include "conformance/redis_impostor.hpp"
#include "conformance/redis_person.hpp"

namespace conclave::conformance {
namespace {

using servers::RedisServer;

RedisOptions at(const Impostor& impostor) {
  RedisOptions options;
  options.port = impostor.port();
  options.password = "geheim";
  options.lease = std::chrono::milliseconds{800};
  return options;
}

bool is_script(const redis::Command& command) { return command[0].starts_with("EVAL"); }

std::string nested(int depth) {
  std::string bytes;
  for (int i = 0; i < depth; ++i) bytes += "*1\r\n";
  return bytes + ":1\r\n";
}

// Until it is sane, nobody is elected; then somebody is.
void expect_error_then_election(Impostor& impostor, const Impostor::Answer& mad,
                                const std::string& says) {
  impostor.answer(mad);
  Person anna(at(impostor));
  expect_sentence(anna.error(says), says);
  EXPECT_FALSE(anna->is_leader());
  impostor.answer({});
  EXPECT_TRUE(anna.is_elected());
  EXPECT_TRUE(anna->stop());
}

TEST(RedisNonsense, OfAServerThatIsNoneIsOneSentence) {
  const RedisServer server({.password = "geheim"});
  Impostor impostor(server.port());
  const struct {
    std::string bytes;
    std::string says;
  } table[] = {
      {"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "protocol"},
      {std::string("\x15\x03\x03\x00\x02\x02\x46", 7), "protocol"},
      {std::string(20000, '\0'), "protocol"},
      {"$99999999999999999999\r\n", "protocol"},
      {"$2147483647\r\n", "did not answer"},
      {"*2147483647\r\n", "protocol"},
      {"*1000000\r\n", "did not answer"},
      {std::string(10000, '$'), "did not answer"},
      {nested(30), "protocol"},
      {"+OK\r\n", "no sense"},
      {":1\r\n", "no sense"},
      {"$-1\r\n", "no sense"},
      {"*0\r\n", "no sense"},
      {"*2\r\n$7\r\nversion\r\n*0\r\n", "no sense"},
      {"-NOPERM\r\n", "forbids"},
      {"-ERR unknown command `HELLO`, with args beginning with: `2`, `AUTH`, `geheim`, \r\n",
       "older than Redis 6"},
      {"-ERR no such thing as 'HELLO' '2' 'AUTH' 'default' 'geheim'\r\n", "refused"},
      {"-DENIED Redis is running in protected mode\r\n", "protected mode"},
      {"", "did not answer"},
  };
  for (const auto& each : table) {
    SCOPED_TRACE(each.bytes.substr(0, 40));
    expect_error_then_election(
        impostor, [&](const redis::Command&) { return each.bytes; }, each.says);
  }
}

TEST(RedisNonsense, OfItsScriptsIsOneSentence) {
  const RedisServer server({.password = "geheim"});
  Impostor impostor(server.port());
  const struct {
    std::string bytes;
    std::string says;
  } table[] = {
      {"+OK\r\n", "no sense"},
      {":1\r\n", "no sense"},
      {"$-1\r\n", "no sense"},
      {"*0\r\n", "no sense"},
      {"*1\r\n*0\r\n", "no sense"},
      {redis::encode({"GRANTED"}), "no sense"},
      {redis::encode({"GRANTED", "0", "800000", "absent", "0"}), "no sense"},
      {redis::encode({"GRANTED", "5", "9000000000000000", "absent", "0"}), "no sense"},
      {redis::encode({"GRANTED", "5", "800000", "vacant", "0"}), "no sense"},
      {redis::encode({"HELD", "1", "1", "1"}), "no sense"},
      {"*3\r\n$4\r\nHELD\r\n:-1\r\n$1\r\n1\r\n", "no sense"},
      {redis::encode({"SEEN", "held", "5"}), "no sense"},
      {redis::encode({"NEWER", "2"}), "newer version"},
      {redis::encode({"FOREIGN"}), "no election"},
      {"-ERR something else\r\n", "something else"},
      {"-NOPERM\r\n", "forbids"},
      {"-WRONGTYPE Operation against a key\r\n", "no election"},
      {"-READONLY You can't write against a read only replica.\r\n", "replica"},
      {"-MOVED 3999 127.0.0.1:6381\r\n", "cluster"},
      {"-NOSCRIPT No matching script.\r\n", "NOSCRIPT"},
      {"-LOADING Redis is loading the dataset in memory\r\n", "loading"},
      {"", "did not answer"},
      {"+OK\r\n+OK\r\n+OK\r\n", "no"},
  };
  for (const auto& each : table) {
    SCOPED_TRACE(each.bytes.substr(0, 40));
    expect_error_then_election(
        impostor,
        [&](const redis::Command& command) {
          return is_script(command) ? std::optional(each.bytes) : std::nullopt;
        },
        each.says);
  }
}

TEST(RedisNonsense, ToALeaderCostsItNoMoreThanItsTerm) {
  const RedisServer server({.password = "geheim"});
  Impostor impostor(server.port());
  for (const std::string& bytes :
       {std::string("*1\r\n$3\r\nyes\r\n"), std::string("*2\r\n+a\r\n+b\r\n"),
        std::string(":1\r\n"), std::string("*1\r\n$-1\r\n"), std::string("HTTP/1.1 400\r\n")}) {
    SCOPED_TRACE(bytes);
    impostor.answer({});
    Person anna(at(impostor));
    ASSERT_TRUE(anna.is_elected());
    impostor.answer([&](const redis::Command& command) {
      return is_script(command) ? std::optional(bytes) : std::nullopt;
    });
    ASSERT_TRUE(anna.next(EventKind::jeopardy));
    const auto lost = anna.next(EventKind::lost);
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->reason, LossReason::lease_expired);
    impostor.answer({});
    EXPECT_TRUE(anna.next(EventKind::elected));
    EXPECT_TRUE(anna->stop());
  }
}

}  // namespace
}  // namespace conclave::conformance
