// From a name to addresses, beside the loop.
//
// getaddrinfo() blocks for as long as the DNS lets it, half a minute and more. It runs in a thread
// of its own that nobody waits for: neither who has given up, nor the end of the loop. One name is
// looked up once at a time in a loop, however often it is asked for meanwhile, so that impatient
// reconnecting does not pile up threads.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <string>
#include <vector>

#include <conclave/export.hpp>
#include <conclave/result.hpp>

#include "net/asio_loop.hpp"

namespace conclave::net {

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

// In the order in which they should be tried; the port is 0. The error's message is the reason
// alone.
using Addresses = Result<std::vector<SocketAddress>>;

// For "127.0.0.1", "::1" and "fe80::1%eth0"; empty for a name.
[[nodiscard]] CONCLAVE_API std::vector<SocketAddress> numeric_addresses(const std::string& host);

// As it was before it was looked up: "127.0.0.1", "fe80::1%eth0".
[[nodiscard]] CONCLAVE_API std::string numeric_text(const SocketAddress& address);

// On the loop's thread; `done` comes there too, never inside the call, and not after the loop's
// end.
CONCLAVE_API void look_up(AsioLoop& loop, const std::string& host,
                          std::function<void(const Addresses&)> done);

}  // namespace conclave::net
