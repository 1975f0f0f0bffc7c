// The protocol of Redis, by hiredis: bytes to replies, and commands to bytes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <conclave/redis.hpp>
#include <conclave/result.hpp>

namespace conclave::redis {

using Command = std::vector<std::string>;

[[nodiscard]] std::string encode(const Command& command);

class Reader {
 public:
  Reader();
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void feed(std::string_view bytes);

  // The next whole reply; nothing while there is none. After an error it is of no use any more.
  [[nodiscard]] Result<std::optional<RedisReply>> next();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace conclave::redis
