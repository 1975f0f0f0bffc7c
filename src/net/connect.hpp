// A connection to the first of a server's addresses that answers.
//
// They are tried in turn, the next one when the one before has failed or has said nothing for a
// moment. Waiting for a silent one to fail would take minutes, and its owner's patience would end
// before the turn of those that work.
#pragma once

#include <functional>
#include <memory>

#include <conclave/result.hpp>

#include "net/asio_loop.hpp"
#include "net/endpoint.hpp"
#include "net/fork.hpp"
#include "net/lookup.hpp"

namespace conclave::net {

// All on the loop's thread. Destroying it gives up, silently; `done` may do so.
class Connecting {
 public:
  using Done = std::function<void(Result<Descriptor>)>;  // once, never inside the constructor

  Connecting(AsioLoop& loop, const Endpoint& endpoint, Done done);

  // For tests: these addresses, with their ports.
  Connecting(AsioLoop& loop, const Endpoint& endpoint, std::vector<SocketAddress> addresses,
             Done done);

  [[nodiscard]] bool is_looking_up() const;

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace conclave::net
