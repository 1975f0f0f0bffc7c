// The plainest client of Redis: it asks and waits. For tests that look at a server from outside.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct redisReader;

namespace conclave::servers {

struct Reply {
  enum class Kind { nothing, status, error, text, number, list };

  Kind kind = Kind::nothing;
  std::string text;  // of a status, an error or a text
  long long number = 0;
  std::vector<Reply> elements;
};

using RedisCommand = std::vector<std::string>;

// One connection, one thread. Throws std::runtime_error, with what was asked and what went wrong,
// when the connection fails or the answer does not come.
class RedisClient {
 public:
  static RedisClient at_port(std::uint16_t port);  // of 127.0.0.1, without TLS
  static RedisClient at_path(const std::string& path);

  RedisClient(RedisClient&& other) noexcept;
  RedisClient& operator=(RedisClient&&) = delete;
  ~RedisClient();

  Reply ask(const RedisCommand& command);      // an error is an answer
  Reply command(const RedisCommand& command);  // an error is thrown
  Reply next();                                // what comes unasked, to a subscriber or a monitor

 private:
  explicit RedisClient(int socket);
  void send(const RedisCommand& command);

  int socket_;
  std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
};

}  // namespace conclave::servers
