// Where a server is, and how to talk to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <conclave/export.hpp>

namespace conclave::net {

// The files are PEM. They are read anew for every connection, so that a renewed certificate is
// taken at the next reconnect. Messages call the options by the names they have here.
struct TlsOptions {
  std::string ca_file{};           // empty: the authorities that the system trusts
  std::string certificate_file{};  // the client's certificate, its chain after it; with key_file
  std::string key_file{};          // not encrypted
  std::string server_name{};       // for SNI and verification; empty: the host
  bool skip_verify = false;        // whoever answers is believed: never by default
};

struct Endpoint {
  std::string host{};  // a name or an address, IPv6 without brackets
  std::uint16_t port = 0;
  std::string unix_path{};  // when set, instead of host and port
  std::optional<TlsOptions> tls{};
};

// For messages: "redis.example:6379", "[::1]:6379", "unix:/run/redis.sock".
[[nodiscard]] CONCLAVE_API std::string to_string(const Endpoint& endpoint);

}  // namespace conclave::net
