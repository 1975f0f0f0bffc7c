// Somebody who has commands executed by the server: over a connection of our own (link.hpp), or by
// the application's client (given.hpp).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "stores/redis/greeting.hpp"
#include "stores/redis/reader.hpp"
#include "stores/redis/scripts.hpp"

namespace conclave::redis {

// A reply, and the own clock just before the command was sent and when its reply came.
struct Delivered {
  RedisReply reply{};
  Instant sent{};
  Instant received{};
};

class Commands {
 public:
  // The error says why there is no reply, and whether the command may have been executed.
  using Done = std::function<void(Result<Delivered>)>;
  using Ready = std::function<void(const std::optional<Error>&)>;

  virtual ~Commands() = default;

  // Calls back once commands can be sent, perhaps within the call, or with what keeps them from it.
  virtual void prepare(Ready ready) = 0;

  // Only within prepare()'s answer. `done` is called later, in the order of the commands.
  virtual void send(Command command, Done done) = 0;
  // The same, of one that calls up others: they should be told before it is answered.
  virtual void send_for_others(Command command, Done done) {
    send(std::move(command), std::move(done));
  }

  // The server, for messages.
  [[nodiscard]] virtual const std::string& where() const = 0;
  // What it said of itself; of the present connection.
  [[nodiscard]] virtual const Greeting& greeting() const = 0;
  // It is not the server that was greeted any more: greet it anew.
  virtual void greet_again(const Error& why) = 0;

  // Like send(), a script by its digest, and in full when the server does not know it. A WRONGTYPE
  // comes as wrong_type() of the key that holds something else.
  void run(const Script& script, const Command& keys, const Command& arguments, const Done& done);

 private:
  struct Prepared {
    std::string text;
    std::string digest;
  };
  const Prepared& prepared(const Script& script);
  void name_key(Command command, std::size_t count, const Done& done);

  std::map<std::pair<const Script*, bool>, Prepared> prepared_;
};

}  // namespace conclave::redis
