#include "net/endpoint.hpp"

namespace conclave::net {

std::string to_string(const Endpoint& endpoint) {
  if (!endpoint.unix_path.empty()) return "unix:" + endpoint.unix_path;
  const bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? "[" + endpoint.host + "]" : endpoint.host;
  return host + ":" + std::to_string(endpoint.port);
}

}  // namespace conclave::net
