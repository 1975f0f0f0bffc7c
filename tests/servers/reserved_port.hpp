// A free port of 127.0.0.1 that stays ours, also while nobody listens on it.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <system_error>

namespace conclave::servers {

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Holds a socket that is bound to the port and does not listen. As long as it lives, Linux gives
// the port to nobody who asks for any port; whoever asks for this very port with SO_REUSEADDR, as
// servers do, gets it. So tests that run side by side never meet, and a server finds its port
// again.
class ReservedPort {
 public:
  ReservedPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    auto address = loopback(0);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (socket_ < 0 || ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        ::bind(socket_, generic, length) != 0 || ::getsockname(socket_, generic, &length) != 0) {
      const int error = errno;
      if (socket_ >= 0) ::close(socket_);
      throw std::system_error(error, std::generic_category(), "no free port");
    }
    number_ = ntohs(address.sin_port);
  }
  ~ReservedPort() { ::close(socket_); }
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;

  [[nodiscard]] std::uint16_t number() const noexcept { return number_; }

 private:
  int socket_;
  std::uint16_t number_ = 0;
};

}  // namespace conclave::servers
