// What `conclave doctor` says of a Redis server.
#pragma once

#include "stores/redis/commands.hpp"
#include "stores/redis/redis_store.hpp"

namespace conclave::redis {

struct Patient {
  StoreSettings settings{};
  std::string probe{};  // a key that no election has
  // What was refused to the connection that listens, or why there is none.
  Result<std::vector<std::string>> listening{std::vector<std::string>{}};
};

// The commands must live until `done` is called.
void examine(Commands& commands, Patient patient,
             std::function<void(Result<std::vector<Finding>>)> done);

}  // namespace conclave::redis
