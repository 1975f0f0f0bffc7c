// A real PgBouncer for one test, between its clients and a PostgreSQL of the same test.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "servers/postgres_server.hpp"
#include "servers/process.hpp"
#include "servers/reserved_port.hpp"
#include "servers/temporary_folder.hpp"

namespace conclave::servers {

enum class PgBouncerMode { session, transaction, statement };  // for how long a backend is lent

// One thread at a time may use it. The server may stop and start behind it.
class PgBouncerServer {
 public:
  // Returns when it is ready.
  PgBouncerServer(const PostgresServer& server, PgBouncerMode mode)
      : PgBouncerServer(server.port(), mode) {}
  // To whatever is behind that port of 127.0.0.1.
  PgBouncerServer(std::uint16_t server_port, PgBouncerMode mode);
  PgBouncerServer(const PgBouncerServer&) = delete;
  PgBouncerServer& operator=(const PgBouncerServer&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_->number(); }
  [[nodiscard]] std::string url() const;  // for the user conclave, who needs no password
  [[nodiscard]] pid_t pid() const;        // throws when it does not run
  [[nodiscard]] std::string log() const { return text_of(folder_.file("log")); }

  void stop();   // in good order, but at once; nothing when it does not run
  void kill();   // SIGKILL; nothing when it does not run
  void start();  // on the same port; nothing when it runs
  void pause();  // SIGSTOP; returns when it stands still
  void resume();

 private:
  void write_configuration() const;
  bool launched_on_port();
  [[nodiscard]] bool running();
  [[nodiscard]] std::string last_words() const;

  const std::uint16_t server_port_;
  const PgBouncerMode mode_;
  TemporaryFolder folder_{"pgbouncer"};
  std::unique_ptr<ReservedPort> port_ = std::make_unique<ReservedPort>();
  std::unique_ptr<Process> process_;
  std::size_t log_read_ = 0;  // what this process wrote begins there
};

}  // namespace conclave::servers
