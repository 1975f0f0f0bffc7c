// A minimal client of a Redis server: one blocking socket, and its protocol by hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conclave::app {

// Where the URL of a store leads.
struct RedisAddress {
  std::string host{};
  std::string port{"6379"};
  std::string socket{};  // a path; instead of host and port
  std::string user{};
  std::string password{};
  std::string database{};
  std::string prefix{"conclave:"};
};

// Nothing for other schemes, and for those that need TLS.
[[nodiscard]] std::optional<RedisAddress> redis_address(const std::string& url);

struct RawReply {
  char kind = 0;       // the protocol's mark: + - : $ *
  bool exists = true;  // not nil
  std::string text{};
  std::int64_t number = 0;
  std::vector<RawReply> parts{};
};

// Throws std::runtime_error whenever something goes wrong, an error of the server included.
class RedisClient {
 public:
  explicit RedisClient(const RedisAddress& address);
  ~RedisClient();
  RedisClient(const RedisClient&) = delete;
  RedisClient& operator=(const RedisClient&) = delete;

  RawReply ask(const std::vector<std::string_view>& command);
  void send(const std::vector<std::string_view>& command);
  [[nodiscard]] RawReply read();
  [[nodiscard]] int fd() const noexcept { return socket_; }
  // Something was received that read() has not given yet.
  [[nodiscard]] bool has_more() const noexcept { return at_ < received_.size(); }

 private:
  [[nodiscard]] std::string line();
  [[nodiscard]] std::string bytes(std::size_t count);
  void receive();

  int socket_ = -1;
  std::string received_;
  std::size_t at_ = 0;
};

}  // namespace conclave::app
