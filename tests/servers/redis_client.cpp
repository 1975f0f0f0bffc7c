#include "servers/redis_client.hpp"

#include <hiredis/hiredis.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "servers/process.hpp"
#include "servers/reserved_port.hpp"

namespace conclave::servers {
namespace {

std::string reason(const std::string& what) {
  return what + ": " + std::generic_category().message(errno);
}

std::string words(const RedisCommand& command) {
  std::string text;
  for (const auto& each : command) text += (text.empty() ? "" : " ") + each;
  return text;
}

int connected(int family, const sockaddr* address, socklen_t length, const std::string& where) {
  const int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{patience.count(), 0};
  if (socket >= 0 && ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
      ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0 &&
      ::connect(socket, address, length) == 0) {
    return socket;
  }
  const auto why = reason("no connection to Redis at " + where);
  if (socket >= 0) ::close(socket);
  throw std::runtime_error(why);
}

Reply value_of(const redisReply& reply) {
  const auto text = [&] { return std::string(reply.str, static_cast<std::size_t>(reply.len)); };
  switch (reply.type) {
    case REDIS_REPLY_STATUS: return {Reply::Kind::status, text(), 0, {}};
    case REDIS_REPLY_ERROR: return {Reply::Kind::error, text(), 0, {}};
    case REDIS_REPLY_STRING: return {Reply::Kind::text, text(), 0, {}};
    case REDIS_REPLY_INTEGER: return {Reply::Kind::number, {}, reply.integer, {}};
    case REDIS_REPLY_NIL: return {};
    case REDIS_REPLY_ARRAY: break;
    default: throw std::runtime_error("Redis replied with a type that nobody knows");
  }
  Reply list{Reply::Kind::list, {}, 0, {}};
  for (std::size_t i = 0; i < reply.elements; ++i) {
    list.elements.push_back(value_of(*reply.element[i]));
  }
  return list;
}

}  // namespace

RedisClient RedisClient::at_port(std::uint16_t port) {
  const auto address = loopback(port);
  return RedisClient(connected(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address,
                               "port " + std::to_string(port)));
}

RedisClient RedisClient::at_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error(path + " is too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  return RedisClient(
      connected(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address, path));
}

RedisClient::RedisClient(int socket)
    : socket_(socket), reader_(::redisReaderCreate(), &::redisReaderFree) {}

RedisClient::RedisClient(RedisClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), reader_(std::move(other.reader_)) {}

RedisClient::~RedisClient() {
  if (socket_ >= 0) ::close(socket_);
}

// By a socket of our own: that of hiredis raises SIGPIPE when the server is gone.
void RedisClient::send(const RedisCommand& command) {
  std::vector<const char*> parts;
  std::vector<std::size_t> lengths;
  for (const auto& each : command) {
    parts.push_back(each.data());
    lengths.push_back(each.size());
  }
  sds request = nullptr;
  const int formatted = ::redisFormatSdsCommandArgv(&request, static_cast<int>(parts.size()),
                                                    parts.data(), lengths.data());
  if (formatted < 0) throw std::runtime_error("no memory for a command of Redis");
  const std::string bytes(request, static_cast<std::size_t>(formatted));
  ::redisFreeSdsCommand(request);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const auto n = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw std::runtime_error(reason("Redis cannot be asked"));
    sent += static_cast<std::size_t>(n);
  }
}

Reply RedisClient::next() {
  std::array<char, 16384> bytes{};
  for (;;) {
    void* raw = nullptr;
    if (::redisReaderGetReply(reader_.get(), &raw) != REDIS_OK) {
      throw std::runtime_error(std::string("Redis does not speak its protocol: ") +
                               reader_->errstr);
    }
    if (raw != nullptr) {
      const std::unique_ptr<redisReply, void (*)(void*)> reply(static_cast<redisReply*>(raw),
                                                               &::freeReplyObject);
      return value_of(*reply);
    }
    const auto n = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) throw std::runtime_error("Redis closed the connection");
    if (n < 0) throw std::runtime_error(reason("Redis does not answer"));
    ::redisReaderFeed(reader_.get(), bytes.data(), static_cast<std::size_t>(n));
  }
}

Reply RedisClient::ask(const RedisCommand& command) {
  try {
    send(command);
    return next();
  } catch (const std::runtime_error& trouble) {
    throw std::runtime_error(words(command) + ": " + trouble.what());
  }
}

Reply RedisClient::command(const RedisCommand& command) {
  auto reply = ask(command);
  if (reply.kind == Reply::Kind::error) {
    throw std::runtime_error(words(command) + ": " + reply.text);
  }
  return reply;
}

}  // namespace conclave::servers
