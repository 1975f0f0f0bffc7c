// What is made of bytes, replies and errors of a server, without one.
#include <gtest/gtest.h>

#include "stores/redis/greeting.hpp"
#include "stores/redis/keys.hpp"
#include "stores/redis/reader.hpp"
#include "stores/redis/replies.hpp"
#include "stores/redis/trouble.hpp"

namespace conclave::redis {
namespace {

using namespace std::chrono_literals;

RedisReply text(std::string content) { return {std::move(content)}; }
RedisReply number(std::int64_t value) { return {value}; }
RedisReply list(RedisReply::Elements elements) { return {std::move(elements)}; }
RedisReply error(std::string message) { return {RedisError{std::move(message)}}; }

bool same(const RedisReply& a, const RedisReply& b) {
  if (a.value.index() != b.value.index()) return false;
  if (const auto* left = std::get_if<RedisError>(&a.value)) {
    return left->message == std::get<RedisError>(b.value).message;
  }
  if (const auto* left = elements_in(a)) {
    const auto* right = elements_in(b);
    return std::equal(left->begin(), left->end(), right->begin(), right->end(), same);
  }
  if (const auto* left = text_in(a)) return *left == *text_in(b);
  if (const auto* left = std::get_if<std::int64_t>(&a.value)) {
    return *left == std::get<std::int64_t>(b.value);
  }
  return true;
}

// ---------------------------------------------------------------- bytes

TEST(RedisReader, ReadsRepliesWhereverTheyAreCut) {
  const std::string bytes =
      "+OK\r\n-ERR no\r\n:-7\r\n$4\r\na\r\nb\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n"
      "*3\r\n:1\r\n*2\r\n$1\r\nx\r\n*1\r\n-E\r\n$-1\r\n:9\r\n";
  const std::vector<RedisReply> expected{
      text("OK"),
      error("ERR no"),
      number(-7),
      text("a\r\nb"),
      text(""),
      {},
      {},
      list({}),
      list({number(1), list({text("x"), list({error("E")})}), {}}),
      number(9)};
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    Reader reader;
    std::vector<RedisReply> replies;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.feed(std::string_view(bytes).substr(at, piece));
      for (auto next = reader.next();; next = reader.next()) {
        ASSERT_TRUE(next) << piece;
        if (!*next) break;
        replies.push_back(**next);
      }
    }
    ASSERT_EQ(replies.size(), expected.size()) << piece;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(same(replies[i], expected[i])) << piece << " " << i;
    }
  }
}

TEST(RedisReader, NonsenseIsAnErrorWithOneSentence) {
  std::string deep;
  for (int i = 0; i < 30; ++i) deep += "*1\r\n";
  for (const std::string& bytes :
       {std::string("HTTP/1.1 400 Bad Request\r\n\r\n"),
        std::string("\x15\x03\x03\x00\x02\x02"
                    "F",
                    7),
        std::string("\0\0\0\0", 4), std::string("*2147483647\r\n"), std::string("*1048577\r\n"),
        std::string("*99999999999999999999\r\n"), std::string("$99999999999999999999\r\n"),
        std::string("*1x\r\n"), std::string("$-7\r\n"), std::string("*-7\r\n"),
        std::string("*1\r\n*2147483647\r\n"), deep}) {
    Reader reader;
    reader.feed(bytes);
    const auto reply = reader.next();
    ASSERT_FALSE(reply) << bytes.substr(0, 20);
    EXPECT_TRUE(reply.error().retryable);
    EXPECT_NE(reply.error().message.find("protocol"), std::string::npos);
    EXPECT_FALSE(reader.next());
  }
}

TEST(RedisReader, DoesNotWaitForAReplyWithoutEnd) {
  for (const std::string& head : {std::string("$2147483647\r\n"), std::string("+")}) {
    Reader reader;
    reader.feed(head);
    const std::string chunk(4UL * 1024 * 1024, 'x');
    bool refused = false;
    for (int i = 0; i < 20 && !refused; ++i) {
      reader.feed(chunk);
      refused = !reader.next();
    }
    EXPECT_TRUE(refused);
  }
}

TEST(RedisReader, EncodesWhatItCanRead) {
  const Command command{"SET", "", "a\r\nb", std::string("\0\xff", 2)};
  Reader reader;
  reader.feed(encode(command));
  const auto reply = reader.next();
  ASSERT_TRUE(reply && *reply);
  EXPECT_TRUE(same(**reply,
                   list({text(command[0]), text(command[1]), text(command[2]), text(command[3])})));
}

// ---------------------------------------------------------------- errors

TEST(RedisTrouble, SaysWhetherToTryAgainAndWhatToDo) {
  const struct {
    std::string message;
    ErrorCode code;
    bool retryable;
    bool definite;
    bool reconnect;
    std::string says;
  } table[] = {
      {"WRONGPASS invalid username-password pair", ErrorCode::denied, false, true, true,
       "password"},
      {"ERR invalid password", ErrorCode::denied, false, true, true, "password"},
      {"NOAUTH Authentication required.", ErrorCode::denied, false, true, true, "password"},
      {"NOPERM this user has no permissions to run the 'eval' command", ErrorCode::denied, false,
       true, false, "'eval'"},
      {"NOPERM", ErrorCode::denied, false, true, false, "grant"},
      {"NOPERM ", ErrorCode::denied, false, true, false, "grant"},
      {"ERR The user executing the script can't run this command or subcommand script: e52a, on "
       "@user_script:1.",
       ErrorCode::denied, false, false, false, "subcommand)"},
      {"DENIED Redis is running in protected mode because", ErrorCode::denied, false, true, true,
       "protected mode"},
      {"ERR max number of clients reached", ErrorCode::unavailable, true, false, true,
       "maxclients"},
      {"READONLY You can't write against a read only replica.", ErrorCode::unavailable, true, false,
       true, "replica"},
      {"LOADING Redis is loading the dataset in memory", ErrorCode::unavailable, true, false, false,
       "loading"},
      {"OOM command not allowed", ErrorCode::unavailable, true, false, false, "maxmemory"},
      {"MISCONF Redis is configured to save", ErrorCode::unavailable, true, false, false, "save"},
      {"MOVED 3999 127.0.0.1:6381", ErrorCode::unavailable, true, false, false, "cluster"},
      {"ASK 3999 127.0.0.1:6381", ErrorCode::unavailable, true, false, false, "cluster"},
      {"TRYAGAIN Multiple keys request", ErrorCode::unavailable, true, false, false, "cluster"},
      {"CLUSTERDOWN The cluster is down", ErrorCode::unavailable, true, false, false, "cluster"},
      {"MASTERDOWN Link with MASTER is down", ErrorCode::unavailable, true, false, true, "master"},
      {"WRONGTYPE Operation against a key", ErrorCode::corrupt, false, true, false, "the key k"},
      {"", ErrorCode::unsupported, true, false, false, "refused"},
      {"ERR " + std::string(5000, 'x'), ErrorCode::unsupported, true, false, false, "xxx"},
      {std::string("ERR a\0\xff\r\nb", 10), ErrorCode::unsupported, true, false, false, "ERR a???"},
  };
  for (const auto& each : table) {
    SCOPED_TRACE(each.message.substr(0, 60));
    const Trouble trouble = trouble_of({each.message}, "the server", "the key k");
    EXPECT_EQ(trouble.error.code, each.code);
    EXPECT_EQ(trouble.error.retryable, each.retryable);
    EXPECT_EQ(trouble.definite, each.definite);
    EXPECT_EQ(trouble.reconnect, each.reconnect);
    EXPECT_NE(trouble.error.message.find(each.says), std::string::npos) << trouble.error.message;
    EXPECT_NE(trouble.error.message.find("the server"), std::string::npos);
    EXPECT_LT(trouble.error.message.size(), 400U);
    EXPECT_EQ(trouble.error.message.find_first_of("\r\n"), std::string::npos);
  }
}

// ---------------------------------------------------------------- greeting

RedisReply hello(const std::string& version, const std::string& mode, const std::string& role) {
  return list({text("server"), text("redis"), text("version"), text(version), text("proto"),
               number(2), text("mode"), text(mode), text("role"), text(role), text("modules"),
               list({})});
}

TEST(RedisGreeting, TellsWhoWillDo) {
  EXPECT_TRUE(greeted(hello("7.0.15", "standalone", "master"), "s").value().knows_flags);
  EXPECT_FALSE(greeted(hello("6.2.1", "standalone", "master"), "s").value().knows_flags);
  EXPECT_TRUE(greeted(hello("10.0", "standalone", "master"), "s").value().knows_flags);
  const struct {
    RedisReply reply;
    std::string says;
    bool retryable;
  } table[] = {
      {error("ERR unknown command `HELLO`, with args beginning with: `2`, `AUTH`, `u`, `geheim`"),
       "older than Redis 6", false},
      {error("ERR what is 'HELLO' '2' 'AUTH' 'u' 'geheim'"), "refused", true},
      {error("WRONGPASS invalid username-password pair or user is disabled."), "password", false},
      {error("NOAUTH HELLO must be called with the client already authenticated"), "wants a",
       false},
      {hello("7.0", "sentinel", "master"), "Sentinel", false},
      {hello("7.0", "cluster", "master"), "cluster", false},
      {hello("7.0", "standalone", "replica"), "replica", true},
      {text("OK"), "no sense", true},
      {list({text("version")}), "no sense", true},
      {list({text("version"), number(7)}), "no sense", true},
      {{}, "no sense", true},
  };
  for (const auto& each : table) {
    const auto greeting = greeted(each.reply, "the server");
    ASSERT_FALSE(greeting);
    EXPECT_NE(greeting.error().message.find(each.says), std::string::npos)
        << greeting.error().message;
    EXPECT_EQ(greeting.error().retryable, each.retryable) << greeting.error().message;
    EXPECT_EQ(greeting.error().message.find("geheim"), std::string::npos);
  }
}

TEST(RedisGreeting, LearnsTheAgeAndOverratesItNever) {
  const auto age = [](const std::string& uptime, const std::string& replid2) {
    Greeting greeting;
    learn(greeting, text("# Server\r\nuptime_in_seconds:" + uptime + "\r\n"),
          text("master_replid:abc\r\nmaster_replid2:" + replid2 + "\r\n"));
    return greeting;
  };
  EXPECT_EQ(age("10", "000").age, 9s);
  EXPECT_EQ(age("0", "000").age, 0s);
  EXPECT_EQ(age("1", "000").age, 0s);
  EXPECT_EQ(age("99999999999999999999", "0").age, 0s);
  EXPECT_EQ(age("-5", "0").age, 0s);
  EXPECT_TRUE(age("10", "00a").needs_note);
  EXPECT_EQ(age("10", "00a").age, 0s);
  Greeting nothing;
  learn(nothing, error("NOPERM"), error("NOPERM"));
  EXPECT_EQ(nothing.age, 0s);
  EXPECT_EQ(nothing.identity, "");
  EXPECT_EQ(noted_age(text("1500000")), 1500ms);
  for (const RedisReply& each : {text("x"), text("-1"), error("e"), number(5), RedisReply{}}) {
    EXPECT_EQ(noted_age(each), 0s);
  }
}

// ---------------------------------------------------------------- answers of the scripts

const std::string attempt = "0123456789abcdef0123456789abcdef";

RedisReply record(const std::string& lease = "600000", const std::string& term = "5") {
  return list({text("anna"), text(term), text(attempt), text("7"), text(lease), text("1000"),
               text("900"), text("")});
}

TEST(RedisReplies, AGrantIsUnderstoodOnlyWhole) {
  const auto reply = [](const std::string& term, const std::string& lease,
                        const std::string& vacancy, const std::string& previous) {
    return list({text("GRANTED"), text(term), text(lease), text(vacancy), text(previous)});
  };
  const auto granted = granted_in(reply("5", "600000", "released", "0"), Instant{3s});
  ASSERT_TRUE(granted);
  EXPECT_EQ(granted->term, Term{5});
  EXPECT_EQ(granted->lease, 600ms);
  EXPECT_EQ(granted->vacancy, Vacancy::released);
  EXPECT_EQ(granted->since, Instant{3s});
  EXPECT_TRUE(granted_in(reply("18446744073709551615", "1", "absent", "0"), {}));
  for (const RedisReply& each :
       {reply("0", "1", "absent", "0"), reply("", "1", "absent", "0"),
        reply("18446744073709551616", "1", "absent", "0"), reply("5", "-1", "absent", "0"),
        reply("5", "1e3", "absent", "0"), reply("5", "9000000000000000", "absent", "0"),
        reply("5", "1", "ABSENT", "0"), reply("5", "1", "absent", "x"), list({text("GRANTED")}),
        list({text("GRANTED"), number(5), text("1"), text("absent"), text("0")}), text("GRANTED"),
        RedisReply{}}) {
    EXPECT_FALSE(granted_in(each, {}));
  }
}

TEST(RedisReplies, AHeldPlaceIsUnderstoodOnlyWhole) {
  const auto held = held_in(list({text("HELD"), number(2), text("10"), text("1000"), record()}));
  ASSERT_TRUE(held && held->record);
  EXPECT_EQ(held->place, 2U);
  EXPECT_EQ(held->look_again_in, 10us);
  EXPECT_EQ(held->record->leader, "anna");
  EXPECT_EQ(held->record->lease, 600ms);
  EXPECT_EQ(to_text(held->record->attempt), attempt);
  EXPECT_FALSE(held_in(list({text("HELD"), number(1), text("10"), text("1000")}))->record);
  for (const RedisReply& each :
       {list({text("HELD")}), list({text("HELD"), number(0), text("1"), text("1")}),
        list({text("HELD"), number(-1), text("1"), text("1")}),
        list({text("HELD"), text("1"), text("1"), text("1")}),
        list({text("HELD"), number(1LL << 40), text("1"), text("1")}),
        list({text("HELD"), number(1), text("99999999999999999"), text("1")}),
        list({text("HELD"), number(1), text("1"), text("1"), text("anna")}),
        list({text("HELD"), number(1), text("1"), text("1"), list({text("anna")})}),
        list({text("HELD"), number(1), text("1"), text("1"), record("9000000000000000")}),
        list({text("HELD"), number(1), text("1"), text("1"), record("1", "x")})}) {
    EXPECT_FALSE(held_in(each));
  }
}

// It is held without a record, and says what to wait for: at least nothing, where it makes no
// sense.
TEST(RedisReplies, AVanishedRecordSaysItsLease) {
  const auto reply = [](RedisReply lease) {
    return list({text("VANISHED"), number(2), text("150000"), std::move(lease)});
  };
  const auto held = held_in(reply(text("1024000")));
  ASSERT_TRUE(held);
  EXPECT_EQ(held->place, 2U);
  EXPECT_EQ(held->look_again_in, 150ms);
  EXPECT_FALSE(held->record);
  EXPECT_EQ(lease_in_vanished(reply(text("1024000"))), 1024ms);
  EXPECT_EQ(lease_in_vanished(reply(text("10000000000000"))), 10'000'000s);
  for (const RedisReply& each :
       {reply(text("")), reply(text("-1")), reply(text("1e6")), reply(text("10000000000001")),
        reply(text("18446744073709551616")), reply(number(5)), reply(error("e")), reply({}),
        reply(list({})), list({text("VANISHED"), number(2), text("150000")}),
        list({text("VANISHED")}), list({}), text("VANISHED"), RedisReply{},
        list({text("HELD"), number(2), text("150000"), text("1024000")})}) {
    EXPECT_EQ(lease_in_vanished(each), 0s);
  }
  for (const RedisReply& each : {list({text("VANISHED"), number(2)}),
                                 list({text("VANISHED"), number(0), text("1"), text("1")}),
                                 list({text("VANISHED"), text("2"), text("1"), text("1")}),
                                 list({text("VANISHED"), number(2), text("x"), text("1")}),
                                 list({text("VANISHED"), number(2), number(1), text("1")})}) {
    EXPECT_FALSE(held_in(each));
  }
}

TEST(RedisReplies, LettersAreUnderstoodOnlyWhole) {
  EXPECT_TRUE(std::holds_alternative<Ended>(news_in("ended").value()));
  EXPECT_EQ(std::get<Vacant>(news_in("vacant\n5\nreleased").value()).term, Term{5});
  const auto told = news_in("record\n5\n" + attempt + "\n7\n600000\n1000\n1001\n900\nanna\na\nb");
  ASSERT_TRUE(told);
  EXPECT_EQ(std::get<Record>(*told).metadata, "a\nb");
  EXPECT_EQ(letter_in("turn\nkey\nanna").value().turn_of, "anna");
  EXPECT_EQ(letter_in("vacant\nkey\n5\nreleased").value().vacant->vacancy, Vacancy::released);
  for (const std::string& each : {std::string(""), std::string("vacant\n5"), std::string("record"),
                                  std::string("vacant\nx\nreleased"), std::string("turn"),
                                  std::string("record\n5\nx\n7\n6\n1\n1\n9\nanna\n")}) {
    EXPECT_FALSE(news_in(each)) << each;
  }
  for (const std::string& each :
       {std::string(""), std::string("turn\nkey"), std::string("vacant\nkey\n5"),
        std::string("vacant\nk\n5\nfree")}) {
    EXPECT_FALSE(letter_in(each)) << each;
  }
}

TEST(RedisKeys, AttemptsAndElectionsHaveOneSpellingEach) {
  EXPECT_EQ(parse_attempt(attempt), (Attempt{0x0123456789abcdef, 0x0123456789abcdef}));
  EXPECT_FALSE(parse_attempt(attempt.substr(1)));
  EXPECT_FALSE(parse_attempt("-123456789abcdef0123456789abcdef0"));
  EXPECT_EQ(record_key("p:", "a{b}%"), "p:{a%7Bb%7D%25}");
  EXPECT_NE(record_key("p:", "a%7B"), record_key("p:", "a{"));
}

}  // namespace
}  // namespace conclave::redis
