// One connection to the server, from its first byte to its last: libpq's, on our loop.
//
// It connects, carries one statement at a time, and tells what comes. Times, order and what to do
// when it breaks are the session's affair.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <conclave/error.hpp>
#include <conclave/time.hpp>

#include "net/asio_loop.hpp"
#include "net/fork.hpp"
#include "stores/postgres/rows.hpp"
#include "stores/postgres/settings.hpp"
#include "stores/postgres/trouble.hpp"

struct pg_conn;

namespace conclave::postgres {

struct Statement {
  std::string sql;
  std::vector<std::optional<std::string>> parameters{};  // as text; none is NULL
  // Until it is answered one way or the other, counted from send(). Zero: the request time-out.
  Duration patience{};
  bool often = false;  // the server keeps its plan, where the session is ours alone
};

// What the server said to a statement.
struct Answer {
  Rows rows{};
  std::optional<Error> error{};  // it was not executed
  bool replication_cancelled = false;
};

// All on the loop's thread. Handlers are never called inside a call of the wire; they may destroy
// it.
class Wire {
 public:
  struct Handlers {
    std::function<void()> connected;
    std::function<void(Answer)> answered;
    std::function<void(std::string channel, std::string payload)> notified;
    std::function<void(const Error&)> broken;  // once, and nothing after it
  };

  // Begins to connect; with PQconnectStartParams' words.
  Wire(net::AsioLoop& loop, const Settings::Conninfo& words, Place place, Handlers handlers);
  // Lives on a connection of the application, see adopted.hpp, and lets go of it in the end.
  Wire(net::AsioLoop& loop, std::shared_ptr<pg_conn> adopted, Place place, Handlers handlers);
  // Says goodbye to the server. In a child after fork() nothing happens.
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // When connected, and the one before is answered.
  void send(const Statement& statement);

  [[nodiscard]] pg_conn* get() const;
  // Of the server that is tried, or connected: an address of hostaddr, or empty.
  [[nodiscard]] std::string address() const;

 private:
  struct Core;
  std::shared_ptr<Core> core_;
  net::ForkMark fork_;
};

}  // namespace conclave::postgres
