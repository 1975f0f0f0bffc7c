// Bytes of a Redis server, from the protocol to what the store makes of it.
#include <string_view>

#include "fuzz/store_values.hpp"
#include "stores/redis/greeting.hpp"
#include "stores/redis/keys.hpp"
#include "stores/redis/reader.hpp"
#include "stores/redis/replies.hpp"
#include "stores/redis/trouble.hpp"

namespace conclave::fuzz {
namespace {

using namespace redis;

void take_text(const std::string& text) {
  take(news_in(text));
  if (const auto letter = letter_in(text)) {
    expect(letter->turn_of.has_value() != letter->vacant.has_value(), "a letter says one thing");
  }
  if (const auto attempt = parse_attempt(text)) {
    expect(parse_attempt(to_text(*attempt)) == attempt, "attempts can be read back");
  }
  static_cast<void>(record_of_news(text));
  static_cast<void>(check_prefix(text));
}

void take_answer(const RedisReply& reply) {
  if (const auto granted = granted_in(reply, Instant{})) {
    expect(granted->term.exists(), "a grant has a term");
    count_with(granted->lease);
    count_with(granted->previous_lease);
  }
  if (const auto held = held_in(reply)) {
    expect(held->place > 0, "a bid has a place");
    count_with(held->look_again_in);
    if (held->record) take(*held->record);
  }
  count_with(lease_in_vanished(reply));
  take(looked_in(reply));
  if (const auto inspection = inspection_in(reply)) {
    expect(inspection->leader.has_value() != inspection->vacancy.has_value(),
           "a place is held or vacant");
    if (inspection->leader) take(*inspection->leader);
  }
  take_error(fault_in(reply, {"the server", "key", {}}, "a request").error);
}

void take_greeting(const RedisReply& reply, const RedisReply& before) {
  if (const auto greeting = greeted(reply, "the server"); !greeting) take_error(greeting.error());
  Greeting greeting;
  learn(greeting, before, reply);
  learn(greeting, reply, reply);
  expect(greeting.age >= Duration::zero(), "an age is none below zero");
  expect(noted_age(reply) >= Duration::zero(), "nor is one that was noted");
}

void take_parts(const RedisReply& reply) {
  if (const auto* text = text_in(reply)) take_text(*text);
  if (const auto* error = std::get_if<RedisError>(&reply.value)) {
    take_error(trouble_of(*error, "the server", "the key").error);
  }
  if (const auto* parts = elements_in(reply)) {
    for (const RedisReply& each : *parts) take_parts(each);
  }
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string attempt = "0123456789abcdef0123456789abcdef";
  const Command record{"anna", "5", attempt, "7", "600000", "1000", "900", "about me"};
  const auto after = [](std::string head, const std::string& tail) { return head += tail; };
  return {
      encode({"GRANTED", "1700000000000000", "600000", "released", "0"}),
      after("*5\r\n$4\r\nHELD\r\n:1\r\n$6\r\n600000\r\n$4\r\n1000\r\n", encode(record)),
      "*4\r\n$8\r\nVANISHED\r\n:2\r\n$6\r\n150000\r\n$7\r\n1024000\r\n",
      after("*4\r\n$4\r\nheld\r\n$4\r\n1000\r\n$1\r\n5\r\n", encode(record)),
      encode({"absent", "1000", "0"}),
      encode({"removed", "1000", "5"}),
      encode({"ended", "1000", "5"}),
      after("*7\r\n$4\r\nSEEN\r\n$4\r\nheld\r\n:0\r\n$4\r\n1000\r\n$1\r\n5\r\n*1\r\n",
            encode({"bob", "him"}) + encode(record)),
      "*6\r\n$4\r\nSEEN\r\n$8\r\nreleased\r\n:1\r\n$4\r\n1000\r\n$1\r\n5\r\n*0\r\n",
      encode({"renewed", "gone", "older", "superseded"}),
      encode({"FOREIGN"}),
      encode({"NEWER", "2"}),
      encode({"message", "conclave:{e}:news", "vacant\n5\nreleased"}),
      encode({"message", "conclave:{e}:news",
              "record\n5\n" + attempt + "\n7\n600000\n1000\n1001\n900\nanna\nabout me"}),
      encode({"message", "conclave:inbox:1", "turn\nconclave:{e}\nanna"}),
      encode({"message", "conclave:inbox:1", "vacant\nconclave:{e}\n5\nreleased"}),
      "*3\r\n$9\r\nsubscribe\r\n$16\r\nconclave:inbox:1\r\n:1\r\n",
      after("*8\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:2\r\n",
            "$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"),
      encode({"# Server\r\nuptime_in_seconds:123456\r\n"}).substr(4) +
          encode({"master_replid:0abc\r\nmaster_replid2:0000\r\n"}).substr(4),
      "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
      "-NOPERM this user has no permissions to run the 'eval' command\r\n",
      "-NOSCRIPT No matching script.\r\n-READONLY You can't write\r\n-LOADING Redis\r\n",
      "-ERR unknown command `HELLO`, with args beginning with: `2`\r\n",
      "+OK\r\n:-9223372036854775808\r\n$-1\r\n*-1\r\n*0\r\n",
      "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
  };
}

std::vector<std::string> words() {
  return {"\r\n",
          "\n",
          "$-1\r\n",
          "*-1\r\n",
          "*0\r\n",
          "*2147483647\r\n",
          "$2147483647\r\n",
          "*1048576\r\n",
          "*4294967297\r\n",
          "$18446744073709551615\r\n",
          "-NOPERM\r\n",
          "GRANTED",
          "HELD",
          "VANISHED",
          "SEEN",
          "held",
          "released",
          "abandoned",
          "expired",
          "absent",
          "removed",
          "0",
          "-1",
          "18446744073709551615",
          "9223372036854775807",
          "8000000000000000",
          "9000000000000000",
          "10000000000000",
          "uptime_in_seconds:",
          "master_replid2:",
          std::string(1, '\0')};
}

}  // namespace conclave::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace conclave;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  fuzz::take_text(std::string(bytes));
  redis::Reader reader;
  // In pieces, as they may come.
  const std::size_t piece = size > 0 ? 1 + data[0] % 64 : 1;
  RedisReply before;
  for (std::size_t at = 0; at < size; at += piece) {
    reader.feed(bytes.substr(at, piece));
    for (auto next = reader.next();; next = reader.next()) {
      if (!next) {
        fuzz::take_error(next.error());
        return 0;
      }
      if (!*next) break;
      fuzz::take_parts(**next);
      fuzz::take_answer(**next);
      fuzz::take_greeting(**next, before);
      before = **std::move(next);
    }
  }
  return 0;
}
