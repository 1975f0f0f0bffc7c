// On the Redis client that the program has anyway: here hiredis, which waits for each reply.
#include <hiredis/hiredis.h>

#include <cstdio>
#include <iostream>
#include <stdexcept>

#include <conclave/conclave.hpp>
#include <conclave/redis.hpp>

namespace {

// The one thing that the library asks of a client: execute this, and say what the server replied.
class Client {
 public:
  explicit Client(const char* socket) : context_(redisConnectUnix(socket), redisFree) {
    if (context_ == nullptr || context_->err != 0) throw std::runtime_error("no Redis there");
  }

  conclave::RedisReply operator()(const std::vector<std::string>& command) const {
    std::vector<const char*> words;
    std::vector<std::size_t> sizes;
    for (const std::string& each : command) {
      words.push_back(each.data());
      sizes.push_back(each.size());
    }
    const std::unique_ptr<void, decltype(&freeReplyObject)> reply(
        redisCommandArgv(context_.get(), static_cast<int>(words.size()), words.data(),
                         sizes.data()),
        freeReplyObject);
    if (!reply) throw std::runtime_error(context_->errstr);  // whether it was executed is not known
    return converted(*static_cast<const redisReply*>(reply.get()));
  }

 private:
  static conclave::RedisReply converted(const redisReply& reply) {
    switch (reply.type) {
      case REDIS_REPLY_INTEGER: return {std::int64_t{reply.integer}};
      case REDIS_REPLY_ERROR: return {conclave::RedisError{{reply.str, reply.len}}};
      case REDIS_REPLY_STATUS:
      case REDIS_REPLY_STRING: return {std::string(reply.str, reply.len)};
      case REDIS_REPLY_ARRAY: break;
      default: return {};
    }
    conclave::RedisReply::Elements elements;
    for (std::size_t i = 0; i < reply.elements; ++i) {
      elements.push_back(converted(*reply.element[i]));
    }
    return {std::move(elements)};
  }

  std::shared_ptr<redisContext> context_;
};

}  // namespace

int main(int argc, char** argv) try {
  const Client client(argc > 1 ? argv[1] : "/run/redis/redis-server.sock");
  auto store = conclave::make_redis_store(client, {.lease = std::chrono::seconds{1}});
  conclave::Options options;  // without a log it would wait in silence for a server that refuses
  options.log = [](const conclave::LogRecord& record) { std::clog << record.message << '\n'; };
  conclave::Candidate me(store, "reports", options);
  auto term = me.lead();
  std::printf("elected over the program's own client, in a term that is %s\n",
              term && term->valid() ? "valid" : "over");
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
