// A real PostgreSQL for one test: started by it, on a free port of 127.0.0.1, gone with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "servers/memory_folder.hpp"
#include "servers/postgres_client.hpp"
#include "servers/process.hpp"
#include "servers/reserved_port.hpp"
#include "servers/standstill.hpp"
#include "servers/stepped_clock.hpp"

namespace conclave::servers {

// Files as certificates.hpp makes them. A certificate that a client shows is always looked at.
struct PostgresTls {
  std::string certificate;
  std::string key;
  std::string authority;
  bool clients_required = false;  // who shows none is refused
};

struct PostgresUser {
  std::string name;
  std::string password;
  std::string attributes{};  // as CREATE ROLE takes them: "CONNECTION LIMIT 2"
};

struct PostgresOptions {
  std::vector<PostgresUser> users{};  // who need their password; besides conclave, who needs none
  std::optional<PostgresTls> tls{};   // then the port speaks TLS only
  bool durable = false;               // else its data are in memory, and it never waits for a disk
  bool steppable_clock = false;       // for step_clock()
  std::vector<std::string> extra{};   // more lines of postgresql.conf
};

// One thread at a time may start, stop and pause it; any may exec() meanwhile. What goes wrong is
// thrown, with the end of the server's log where that helps.
class PostgresServer {
 public:
  explicit PostgresServer(PostgresOptions options = {});  // returns when it is ready
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  [[nodiscard]] static std::string host() { return "127.0.0.1"; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_->number(); }
  // Where its socket is: with port(), what libpq wants as host.
  [[nodiscard]] const std::string& unix_folder() const noexcept { return folder_.path(); }
  // postgresql://conclave@127.0.0.1:PORT/postgres
  [[nodiscard]] std::string url() const;
  [[nodiscard]] std::string url(const PostgresUser& user) const;
  [[nodiscard]] pid_t pid() const;  // of the postmaster; throws when it does not run
  [[nodiscard]] bool running();
  [[nodiscard]] std::string log() const { return text_of(folder_.file("log")); }

  // All of these do nothing when it does not run.
  void stop();              // fast: whoever is connected is thrown out
  void stop_immediately();  // SIGQUIT: the next start recovers from the log
  void kill();              // SIGKILL of all its processes at once; returns when they are gone

  void start();    // on the same port, with the same data; nothing when it runs
  void restart();  // a running server first ends in good order

  // The postmaster and all backends stand still. They are resumed by whatever stops the server.
  void pause();
  void resume();
  void pause_backend(pid_t backend);  // this one alone, until it is resumed by its number
  void resume_backend(pid_t backend);

  // Another server that follows this one, with the same options. From now on what is committed here
  // is there, too, before it is answered; without it nothing more is committed.
  std::unique_ptr<PostgresServer> standby();
  // Makes a standby a server of its own; returns when it can be written. The old one stays as it
  // is.
  void promote();

  // Its wall clock jumps, as clock_timestamp() shows. A restarted server keeps the wrong clock.
  void step_clock(std::chrono::nanoseconds by);

  // As superuser, over the Unix socket, on a connection of its own: it works whatever the test does
  // to ports, passwords and certificates.
  PostgresRows exec(const std::string& sql, const PostgresParameters& parameters = {}) const;
  std::string value(const std::string& sql, const PostgresParameters& parameters = {}) const;
  [[nodiscard]] PostgresClient client() const;
  // Of the clients that are connected, by what pg_stat_activity says: "usename = 'anna'".
  [[nodiscard]] std::vector<pid_t> backends(const std::string& where = "true") const;

 private:
  PostgresServer(const PostgresServer& primary, const std::string& name);  // its standby

  void launch_on_any_port();
  void write_configuration() const;
  [[nodiscard]] std::vector<std::string> configuration() const;
  [[nodiscard]] std::vector<std::string> access() const;
  void write(const std::string& file, const std::vector<std::string>& lines) const;
  void launch();
  bool launched_on_port();
  void wait_until_ready();
  [[nodiscard]] bool ready() const;
  void shut_down(int signal);
  void make_users() const;
  void lend_shared_memory() const;
  [[nodiscard]] std::string connection() const;  // as libpq takes it, over the Unix socket
  [[nodiscard]] std::string in_data(const std::string& name) const;
  [[nodiscard]] std::string last_words() const;

  PostgresOptions options_;
  MemoryFolder folder_{"postgres", options_.durable};
  std::unique_ptr<ReservedPort> port_ = std::make_unique<ReservedPort>();
  std::unique_ptr<SteppedClock> clock_;
  std::unique_ptr<Process> process_;
  std::unique_ptr<Standstill> paused_;
  std::map<pid_t, std::unique_ptr<Standstill>> paused_backends_;
  std::vector<std::string> following_;  // the lines of a standby
  int standbys_ = 0;
  std::size_t log_read_ = 0;  // what this process wrote begins there
};

}  // namespace conclave::servers
