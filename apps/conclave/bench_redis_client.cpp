#include "apps/conclave/bench_redis_client.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "apps/conclave/bench_raw_process.hpp"

namespace conclave::app {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// "a=b&c=d", decoded.
std::map<std::string, std::string> options_in(std::string query) {
  std::map<std::string, std::string> options;
  while (!query.empty()) {
    const std::string each = query.substr(0, query.find('&'));
    query.erase(0, each.size() + 1);
    const auto equals = each.find('=');
    if (equals != std::string::npos) {
      options[each.substr(0, equals)] = unescaped(each.substr(equals + 1));
    }
  }
  return options;
}

// "[user][:password]@host[:port]"
void take_authority(const std::string& authority, RedisAddress& address) {
  const auto at = authority.rfind('@');
  if (at != std::string::npos) {
    const auto colon = authority.find(':');
    address.user = unescaped(authority.substr(0, std::min(colon, at)));
    if (colon < at) address.password = unescaped(authority.substr(colon + 1, at - colon - 1));
  }
  std::string host = at != std::string::npos ? authority.substr(at + 1) : authority;
  const auto colon = host.rfind(':');
  if (colon != std::string::npos && host.find(']', colon) == std::string::npos) {
    address.port = host.substr(colon + 1);
    host.erase(colon);
  }
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  address.host = unescaped(host);
}

int connected_to_path(const std::string& path) {
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) fail("socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail(path);
  }
  return descriptor;
}

int connected_to_host(const RedisAddress& address) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.host.c_str(), address.port.c_str(), &wanted, &found) != 0) {
    throw std::runtime_error(address.host + " has no address");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  for (; found != nullptr; found = found->ai_next) {
    const int descriptor = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) fail("socket");
    if (::connect(descriptor, found->ai_addr, found->ai_addrlen) == 0) {
      const int yes = 1;
      ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      return descriptor;
    }
    ::close(descriptor);
  }
  fail(address.host + ":" + address.port);
}

}  // namespace

std::optional<RedisAddress> redis_address(const std::string& url) {
  const auto mark = url.find('?');
  const std::string place = url.substr(0, mark);
  const auto options = options_in(mark != std::string::npos ? url.substr(mark + 1) : "");
  RedisAddress address;
  constexpr std::string_view tcp = "redis://";
  constexpr std::string_view local = "redis+unix:";
  if (place.starts_with(tcp)) {
    const auto path = place.find('/', tcp.size());
    take_authority(place.substr(tcp.size(), path - tcp.size()), address);
    if (path != std::string::npos) address.database = place.substr(path + 1);
  } else if (place.starts_with(local)) {
    address.socket = unescaped(place.substr(place.find('/', local.size())));
    if (address.socket.starts_with("//")) address.socket.erase(0, 2);
  } else {
    return std::nullopt;
  }
  const auto take = [&](const char* name, std::string& where) {
    if (const auto given = options.find(name); given != options.end()) where = given->second;
  };
  std::string file;
  take("user", address.user);
  take("password", address.password);
  take("database", address.database);
  take("prefix", address.prefix);
  take("password_file", file);
  if (!file.empty()) {
    std::ifstream stream(file);
    std::getline(stream, address.password);
  }
  return address;
}

RedisClient::RedisClient(const RedisAddress& address)
    : socket_(address.socket.empty() ? connected_to_host(address)
                                     : connected_to_path(address.socket)) {
  try {
    if (!address.password.empty()) {
      const std::string user = address.user.empty() ? "default" : address.user;
      ask({"AUTH", user, address.password});
    }
    if (!address.database.empty()) ask({"SELECT", address.database});
  } catch (...) {
    ::close(socket_);
    throw;
  }
}

RedisClient::~RedisClient() { ::close(socket_); }

RawReply RedisClient::ask(const std::vector<std::string_view>& command) {
  send(command);
  return read();
}

void RedisClient::send(const std::vector<std::string_view>& command) {
  std::string bytes = "*" + std::to_string(command.size()) + "\r\n";
  for (const std::string_view each : command) {
    bytes += "$" + std::to_string(each.size()) + "\r\n";
    bytes += each;
    bytes += "\r\n";
  }
  for (std::string_view rest = bytes; !rest.empty();) {
    const auto written = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (written < 0) fail("the server was not told");
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

RawReply RedisClient::read() {
  const std::string head = line();
  RawReply reply;
  reply.kind = head.empty() ? '?' : head[0];
  reply.text = head.empty() ? "" : head.substr(1);
  if (reply.kind == '-') throw std::runtime_error("the server answered: " + reply.text);
  if (reply.kind == '+') return reply;
  reply.number = std::stoll(reply.text);
  if (reply.kind == ':') return reply;
  reply.exists = reply.number >= 0;
  reply.text.clear();
  if (reply.kind == '$' && reply.exists) {
    reply.text = bytes(static_cast<std::size_t>(reply.number));
    static_cast<void>(bytes(2));
  }
  for (std::int64_t i = 0; reply.kind == '*' && i < reply.number; ++i) {
    reply.parts.push_back(read());
  }
  return reply;
}

std::string RedisClient::line() {
  while (true) {
    const auto end = received_.find("\r\n", at_);
    if (end != std::string::npos) {
      std::string text = received_.substr(at_, end - at_);
      at_ = end + 2;
      return text;
    }
    receive();
  }
}

std::string RedisClient::bytes(std::size_t count) {
  while (received_.size() - at_ < count) receive();
  std::string text = received_.substr(at_, count);
  at_ += count;
  return text;
}

void RedisClient::receive() {
  received_.erase(0, at_);
  at_ = 0;
  std::array<char, 16384> buffer{};
  const auto count = ::recv(socket_, buffer.data(), buffer.size(), 0);
  if (count <= 0) throw std::runtime_error("the server hung up");
  received_.append(buffer.data(), static_cast<std::size_t>(count));
}

}  // namespace conclave::app
