#include "stores/redis/trouble.hpp"

#include <algorithm>
#include <array>

namespace conclave::redis {
namespace {

// What the server says of itself, and what it means. All of it passes, or is mended at the server.
struct Passing {
  std::string_view code;
  std::string_view sentence;
  bool reconnect = false;
};

constexpr std::string_view of_a_cluster =
    "belongs to a cluster, which is not supported yet: use a server of its own";

constexpr std::array passing{
    Passing{"READONLY", "is a replica, and takes no writes: connect to the master", true},
    Passing{"LOADING", "is loading its data: it will serve when that is done"},
    Passing{"MASTERDOWN", "is a replica that has lost its master: connect to the master", true},
    Passing{"CLUSTERDOWN", of_a_cluster},
    Passing{"MOVED", of_a_cluster},
    Passing{"ASK", of_a_cluster},
    Passing{"CROSSSLOT", of_a_cluster},
    Passing{"TRYAGAIN", of_a_cluster},
    Passing{"BUSY", "is busy with a script of somebody"},
    Passing{"OOM", "has reached its maxmemory: raise it, or free some"},
    Passing{"MISCONF", "cannot save its data, and refuses writes until it can: see its log"},
    Passing{"NOREPLICAS", "has fewer replicas than it wants for a write"},
};

constexpr std::string_view in_the_way = "WRONGTYPE the key ";

// What a stranger sent, for a message.
std::string shown(std::string_view text) {
  std::string clean(text.substr(0, 200));
  std::replace_if(
      clean.begin(), clean.end(), [](unsigned char c) { return c < ' ' || c >= 127; }, '?');
  return clean;
}

bool has_code(std::string_view message, std::string_view code) {
  return message.starts_with(code) &&
         (message.size() == code.size() || message[code.size()] == ' ');
}

Trouble of_wrong_type(std::string_view message, const std::string& where, const std::string& what) {
  const bool named = message.starts_with(in_the_way);
  const std::string key = named ? "the key " + shown(message.substr(in_the_way.size())) : what;
  return {{ErrorCode::corrupt,
           key + " at " + where +
               " holds something that is no election: rename or delete it, or use another prefix",
           false, false},
          true,  // the scripts read before they write, and metadata in a way that cannot fail
          false};
}

}  // namespace

Trouble trouble_of(const RedisError& error, const std::string& where, const std::string& what) {
  const std::string& message = error.message;
  const auto found = std::find_if(passing.begin(), passing.end(), [&](const Passing& each) {
    return has_code(message, each.code);
  });
  if (found != passing.end()) {
    return {{ErrorCode::unavailable, where + " " + std::string(found->sentence), true, false},
            false,
            found->reconnect};
  }
  if (is_wrong_password(error)) {
    return {{ErrorCode::denied, where + " does not know this user with this password: check both",
             false, false},
            true,
            true};
  }
  if (has_code(message, "NOAUTH")) {
    return {{ErrorCode::denied, where + " wants a password: give user and password", false, false},
            true,
            true};
  }
  if (has_code(message, "NOPERM")) {
    return {{ErrorCode::denied,
             where + " forbids this user what an election needs (" +
                 shown(std::string_view(message).substr(std::min<std::size_t>(7, message.size()))) +
                 "): grant it, conclave doctor says how",
             false, false},
            true,
            false};
  }
  // Within a script. It may have come far, so what it has done is not known.
  if (message.find("The user executing the script") != std::string::npos ||
      message.find("ACL failure in script") != std::string::npos) {
    return {{ErrorCode::denied,
             where + " forbids this user what an election needs (" +
                 shown(message.substr(0, message.find(" script: "))) +
                 "): grant it, conclave doctor says what and how",
             false, true},
            false,
            false};
  }
  if (message.find("WRONGTYPE") != std::string::npos) return of_wrong_type(message, where, what);
  if (has_code(message, "DENIED")) {
    return {{ErrorCode::denied,
             where + " is in protected mode, and serves its own machine only: give it a password",
             false, false},
            true,
            true};
  }
  if (message.find("max number of clients") != std::string::npos) {
    return {{ErrorCode::unavailable, where + " has as many clients as it takes: raise maxclients",
             true, false},
            false,
            true};
  }
  // A script that stumbles over what it read may have come far.
  const bool in_script = message.find("@user_script") != std::string::npos;
  return {
      {ErrorCode::unsupported, where + " refused the request: " + shown(message), true, in_script},
      false,
      false};
}

bool is_wrong_password(const RedisError& error) {
  return has_code(error.message, "WRONGPASS") ||
         error.message.find("invalid password") != std::string::npos;
}

RedisError wrong_type(const std::string& key) { return {std::string(in_the_way) + key}; }

Error timed_out(const std::string& where, Duration limit, std::string_view awaited,
                std::string_view setting) {
  return {ErrorCode::timed_out,
          where + " did not answer within " +
              std::to_string(std::chrono::ceil<std::chrono::milliseconds>(limit).count()) +
              " ms (" + std::string(setting) + "): " + std::string(awaited) + " did not come",
          true, false};
}

Error nonsense_reply(const std::string& where, std::string_view to) {
  return {ErrorCode::unsupported,
          where + " answered " + std::string(to) +
              " with something that makes no sense: is it a Redis server, and are its keys only "
              "written by this library?",
          true, true};
}

Error given_up(const std::string& where) {
  return {
      ErrorCode::cancelled,
      where + " did not answer before its caller gave up (request_timeout): a reply did not come",
      true, true};
}

}  // namespace conclave::redis
