// What an error of the server means for a person, and for the call that got it.
#pragma once

#include <string>
#include <string_view>

#include <conclave/error.hpp>
#include <conclave/redis.hpp>
#include <conclave/time.hpp>

namespace conclave::redis {

struct Trouble {
  Error error{};
  bool definite = false;   // the call was not carried out, and repeating it changes nothing
  bool reconnect = false;  // what we are connected to is not what we need
};

// `where` names the server; `what` is the key or the purpose that the call was about.
[[nodiscard]] Trouble trouble_of(const RedisError& error, const std::string& where,
                                 const std::string& what);

[[nodiscard]] bool is_wrong_password(const RedisError& error);

// A WRONGTYPE of a script names no key. This one does; `what` above is not needed then.
[[nodiscard]] RedisError wrong_type(const std::string& key);

// No answer within `limit`. `awaited` is what would have come, `setting` what gives the limit.
[[nodiscard]] Error timed_out(const std::string& where, Duration limit, std::string_view awaited,
                              std::string_view setting);

[[nodiscard]] Error nonsense_reply(const std::string& where, std::string_view to);
[[nodiscard]] Error given_up(const std::string& where);

}  // namespace conclave::redis
