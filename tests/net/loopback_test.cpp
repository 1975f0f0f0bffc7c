// What leaves this machine, and what only looks as if it did not.
#include <gtest/gtest.h>

#include "net/loopback.hpp"

namespace conclave::net {
namespace {

TEST(Loopback, IsAnAddressOrTheOneNameForIt) {
  for (const char* const host :
       {"127.0.0.1", "127.255.0.9", "::1", "0:0:0:0:0:0:0:1", "localhost"}) {
    EXPECT_TRUE(is_loopback({.host = host})) << host;
  }
  for (const char* const host :
       {"127.evil.example", "127.0.0.1.evil.example", "127.", "127.1", "128.0.0.1", "1.127.0.0",
        "0.0.0.0", "::", "::2", "localhost.example", "", "redis"}) {
    EXPECT_FALSE(is_loopback({.host = host})) << host;
  }
  EXPECT_TRUE(is_loopback({.host = "redis", .unix_path = "/run/redis.sock"}));
}

}  // namespace
}  // namespace conclave::net
