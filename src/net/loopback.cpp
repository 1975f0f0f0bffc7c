#include "net/loopback.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

namespace conclave::net {

bool is_loopback(const Endpoint& endpoint) {
  if (!endpoint.unix_path.empty() || endpoint.host == "localhost") return true;
  in_addr v4{};
  if (::inet_pton(AF_INET, endpoint.host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24U == 127;
  in6_addr v6{};
  return ::inet_pton(AF_INET6, endpoint.host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace conclave::net
