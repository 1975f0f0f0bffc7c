// Whether what is sent to a server leaves this machine.
#pragma once

#include <conclave/export.hpp>

#include "net/endpoint.hpp"

namespace conclave::net {

// A Unix socket, 127.0.0.0/8, ::1, or "localhost". Of other names nothing is known, whatever they
// look like.
[[nodiscard]] CONCLAVE_API bool is_loopback(const Endpoint& endpoint);

}  // namespace conclave::net
