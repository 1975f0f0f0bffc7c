#include "stores/redis/reader.hpp"

#include <hiredis/hiredis.h>

namespace conclave::redis {
namespace {

struct FreeReader {
  void operator()(redisReader* reader) const { redisReaderFree(reader); }
};

// hiredis calls these for each part of a reply, parents first; the root belongs to it until it is
// whole. An array that claims more than this is nonsense, and not waited for.
constexpr int longest_array = 1 << 20;

void* put(const redisReadTask* task, RedisReply reply) {
  if (task->parent == nullptr) return std::make_unique<RedisReply>(std::move(reply)).release();
  auto& parent = *static_cast<RedisReply*>(task->parent->obj);
  return &std::get<RedisReply::Elements>(parent.value).emplace_back(std::move(reply));
}

void* put_string(const redisReadTask* task, char* text, std::size_t length) {
  std::string content(text, length);
  if (task->type == REDIS_REPLY_ERROR) return put(task, {RedisError{std::move(content)}});
  return put(task, {std::move(content)});
}

#if HIREDIS_MAJOR >= 1
using Count = std::size_t;
#else
using Count = int;
#endif

void* put_array(const redisReadTask* task, Count count) {
  if (count > longest_array) return nullptr;
  return put(task, {RedisReply::Elements{}});
}

void* put_integer(const redisReadTask* task, long long number) {
  return put(task, {static_cast<std::int64_t>(number)});
}

void* put_nil(const redisReadTask* task) { return put(task, {}); }

void free_root(void* reply) {
  const std::unique_ptr<RedisReply> owner(static_cast<RedisReply*>(reply));
}

redisReader* make_reader() {
  static redisReplyObjectFunctions functions = [] {
    redisReplyObjectFunctions made{};  // by name: newer ones have more of them
    made.createString = put_string;
    made.createArray = put_array;
    made.createInteger = put_integer;
    made.createNil = put_nil;
    made.freeObject = free_root;
    return made;
  }();
  return redisReaderCreateWithFunctions(&functions);
}

Error nonsense() {
  return {ErrorCode::unsupported,
          "what answers does not speak the protocol of Redis: check host and port, and whether it "
          "wants TLS (rediss:)",
          true, true};
}

// Longer than anything that we ask for.
constexpr std::size_t longest_reply = 64UL * 1024 * 1024;

}  // namespace

std::string encode(const Command& command) {
  std::string bytes = "*" + std::to_string(command.size()) + "\r\n";
  for (const std::string& each : command) {
    bytes += '$';
    bytes += std::to_string(each.size());
    bytes += "\r\n";
    bytes += each;
    bytes += "\r\n";
  }
  return bytes;
}

struct Reader::Parser {
  std::unique_ptr<redisReader, FreeReader> reader{make_reader()};
  std::size_t fed = 0;  // since the last whole reply
};

Reader::Reader() : parser_(std::make_unique<Parser>()) {}
Reader::~Reader() = default;

void Reader::feed(std::string_view bytes) {
  parser_->fed += bytes.size();
  redisReaderFeed(parser_->reader.get(), bytes.data(), bytes.size());
}

Result<std::optional<RedisReply>> Reader::next() {
  void* found = nullptr;
  if (redisReaderGetReply(parser_->reader.get(), &found) != REDIS_OK) return nonsense();
  if (found == nullptr) {
    if (parser_->fed > longest_reply) return nonsense();
    return std::optional<RedisReply>{};
  }
  parser_->fed = 0;
  const std::unique_ptr<RedisReply> reply(static_cast<RedisReply*>(found));
  return std::optional(std::move(*reply));
}

}  // namespace conclave::redis
