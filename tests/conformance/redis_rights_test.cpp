// What the refusals of different versions of the server say is missing, and how it is granted.
#include <gtest/gtest.h>

#include "stores/redis/rights.hpp"

namespace conclave::redis {
namespace {

TEST(RedisRights, AreNamedByTheServersRefusal) {
  const struct {
    std::string refusal;
    std::string missing;
  } table[] = {
      {"NOPERM this user has no permissions to run the 'get' command", "+get"},
      {"NOPERM this user has no permissions to run the 'get' command or its subcommand", "+get"},
      {"NOPERM User keys has no permissions to run the 'pubsub|numsub' command", "+pubsub|numsub"},
      {"NOPERM this user has no permissions to access one of the keys used as arguments", "~c:*"},
      {"NOPERM No permissions to access a key", "~c:*"},
      {"NOPERM User a has no permissions to access the 'c:{my channel}' key", "~c:*"},
      {"NOPERM this user has no permissions to access one of the channels used as arguments",
       "&c:*"},
      {"NOPERM No permissions to access a channel", "&c:*"},
      {"NOPERM User a has no permissions to access the 'c:{key}:news' channel", "&c:*"},
      {"NOPERM", ""},
      {"NOPERM to run the '", ""},
      {"ERR no permissions to run the 'get' command", ""},
  };
  for (const auto& each : table) {
    EXPECT_EQ(missing_in(each.refusal, "c:").value_or(""), each.missing) << each.refusal;
  }
}

TEST(RedisRights, TakeThePrefixAsItIs) {
  EXPECT_EQ(pattern_of("conclave:"), "conclave:*");
  EXPECT_EQ(pattern_of("a*b?[c]\\ d:"), "a\\*b\\?\\[c\\]\\\\?d:*");
}

}  // namespace
}  // namespace conclave::redis
