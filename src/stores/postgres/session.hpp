// A session with the server that is kept up, and its statements in their order.
//
//   Session session(loop, settings, {.setup = ..., .greeted = ..., .lost = ..., .notified = ...});
//   session.prepare([&](const std::optional<Error>& why) {
//     if (!why) session.send({"SELECT 1"}, [](Result<Delivered> answer) { ... });
//   });
//
// It connects, greets the server, and connects again when it breaks: at once the first time, after
// growing, jittered pauses then, of an eighth of a lease at most. What only a person can mend, such
// as a wrong password, is tried so for one lease, and then left alone for up to a lease, or ten
// seconds where that is less. An attempt has connect_limit(), for everything from the DNS to the
// last statement of the setup; with several servers each has its part of that.
//
// All on the loop's thread, the constructor and the destructor too. Every callback may destroy the
// session. In a child after fork() nothing is sent or closed, and every call does nothing.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <conclave/result.hpp>

#include "net/asio_loop.hpp"
#include "net/fork.hpp"
#include "stores/postgres/settings.hpp"
#include "stores/postgres/wire.hpp"

namespace conclave::postgres {

// What a statement gave, and the own clock just before it was sent and when its answer came.
struct Delivered {
  Rows rows{};
  Instant sent{};
  Instant received{};
  // It was committed here, but the standbys may not have it: a promoted one may know nothing of it.
  bool replication_cancelled = false;
};

class Session {
 public:
  using Ready = std::function<void(const std::optional<Error>&)>;
  // The error says why there is no answer, and whether the statement may have been executed.
  using Done = std::function<void(Result<Delivered>)>;

  struct Handlers {
    // Sent after each connect, before anything else; may be empty.
    std::function<std::vector<Statement>()> setup{};
    // What the setup gave: takes the server, or says why not.
    std::function<std::optional<Error>(const std::vector<Delivered>&, PGconn*)> greeted{};
    // A session that was ready is over: before its socket is closed, and before any Done hears it.
    std::function<void(const Error&)> lost{};
    std::function<void(std::string channel, std::string payload)> notified{};
  };

  struct Keeping {
    // A statement without an answer keeps its connection for as long as its own patience or this
    // lasts, whichever is longer, from when it was sent; then it is given up as broken. Until then
    // its late answer lets the queue go on.
    Duration tolerance{};
    // Now and then it says a word, since the server ends a session that is silent for
    // longest_silence(). Not for one that holds a lock: there only its owner's words count.
    bool awake = true;
    // It is left when the server only reads by default from now on. With several hosts in the URL
    // each session is: there is another one that may be written.
    bool writes = false;
  };

  // Connects with the first prepare() or open().
  // On `adopted`, a connection of the application, where there is one: it is not replaced when it
  // breaks.
  Session(net::AsioLoop& loop, std::shared_ptr<const Settings> settings, Handlers handlers,
          Keeping keeping, std::shared_ptr<PGconn> adopted = {});
  Session(net::AsioLoop& loop, std::shared_ptr<const Settings> settings, Handlers handlers)
      : Session(loop, std::move(settings), std::move(handlers), Keeping{}) {}
  ~Session();  // without a word to who waits
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void open();  // unless it was before

  // Calls back once statements can be sent, perhaps within the call, or with what keeps them from
  // it.
  void prepare(Ready ready);

  // Queued; one is under way at a time. `done` comes later, never within the call. What was not
  // sent when its patience or its connection ended will not be: that is not in doubt.
  void send(Statement statement, Done done);

  // What it said shows that it is of no use: the next one.
  void fail(const Error& why);

  // Ends it for good, without `lost`. Whoever waits is told within the call.
  void close();

  // The own clock just before the last statement was sent that has been answered, also late; of
  // this connection.
  [[nodiscard]] std::optional<Instant> last_confirmed() const;
  [[nodiscard]] int backend_pid() const;  // as the server or the pooler told it; 0: not connected
  // The server's session is not ours alone: a pooler stands between. Known when established.
  [[nodiscard]] bool is_pooled() const;
  [[nodiscard]] bool is_established() const;
  [[nodiscard]] bool is_idle() const;  // established, and nothing is under way or in line
  [[nodiscard]] bool has_tls() const;  // as far as the server, or the pooler before it
  [[nodiscard]] const std::string& where() const;

 private:
  struct Core;
  std::shared_ptr<Core> core_;
  net::ForkMark fork_;
};

}  // namespace conclave::postgres
