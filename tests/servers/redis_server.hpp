// A real Redis for one test: started by it, on a free port of 127.0.0.1, gone with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "servers/process.hpp"
#include "servers/redis_client.hpp"
#include "servers/reserved_port.hpp"
#include "servers/stepped_clock.hpp"
#include "servers/temporary_folder.hpp"

namespace conclave::servers {

// Files as certificates.hpp makes them.
struct RedisTls {
  enum class Clients { without, optional, required };  // whether they have to show a certificate

  std::string certificate;
  std::string key;
  std::string authority;
  Clients clients = Clients::without;
};

struct RedisOptions {
  std::string password{};            // of the default user
  std::vector<std::string> users{};  // as ACL SETUSER takes them: "anna on >secret ~* &* +@all"
  std::optional<RedisTls> tls{};     // then the port speaks TLS only
  bool tcp = true;                   // else the Unix socket is the only way in
  bool append_only = false;          // every write is on the disk before it is answered
  std::vector<std::string> save{};   // "60 1": a snapshot after 60 s with a change; else none
  std::string max_memory{};          // "10mb"
  std::string max_memory_policy{};   // "allkeys-lru"
  bool steppable_clock = false;      // for step_clock()
  std::vector<std::string> extra{};  // more lines of redis.conf
};

// One thread at a time may start and stop it; any may command() meanwhile. What goes wrong is
// thrown, with the end of the server's log where that helps.
class RedisServer {
 public:
  explicit RedisServer(RedisOptions options = {});  // returns when it is ready
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  [[nodiscard]] static std::string host() { return "127.0.0.1"; }
  [[nodiscard]] std::uint16_t port() const noexcept { return port_->number(); }
  [[nodiscard]] std::string host_and_port() const { return host() + ":" + std::to_string(port()); }
  [[nodiscard]] std::string unix_path() const { return folder_.file("socket"); }
  [[nodiscard]] pid_t pid() const;  // throws when it does not run
  [[nodiscard]] bool running();
  [[nodiscard]] std::string log() const { return text_of(folder_.file("log")); }

  // Answers PING, and has loaded what it has on the disk.
  void wait_until_ready();

  void stop();   // SHUTDOWN NOSAVE; nothing when it does not run
  void kill();   // SIGKILL; nothing when it does not run
  void start();  // on the same port, with what is on the disk; nothing when it runs

  // A running server first ends in good order; one that was killed has what it had written.
  void restart_with_data();
  void restart_without_data();

  // A copy of the data as they are now, and back to it with a restart. Not with append_only, where
  // Redis reads its log instead.
  std::string save_rdb();
  void restore_rdb(const std::string& copy);

  void pause();   // SIGSTOP; returns when it stands still
  void resume();  // SIGCONT

  // Its wall clock jumps, as TIME in a script shows, and PX and PEXPIRE feel it. A restarted server
  // keeps the wrong clock.
  void step_clock(std::chrono::nanoseconds by);

  // Over the Unix socket, on a connection of its own that logs in as a user of its own, so that it
  // works whatever the test does to ports, passwords and certificates. Counts in INFO as two
  // commands, AUTH being the other.
  Reply command(const RedisCommand& command) const;  // throws an error that is replied
  Reply ask(const RedisCommand& command) const;      // returns it
  [[nodiscard]] RedisClient client() const;          // logged in

  // A text by lines; a list by elements.
  [[nodiscard]] std::vector<std::string> lines(const RedisCommand& command) const;
  // info("stats", "total_commands_processed")
  [[nodiscard]] std::string info(const std::string& section, const std::string& field) const;

 private:
  void write_configuration() const;
  [[nodiscard]] std::vector<std::string> configuration() const;
  void launch();
  bool launched_on_port();
  void end_process();
  void shut_down(const char* how);
  void remove_data() const;
  [[nodiscard]] std::string last_words() const;

  RedisOptions options_;
  TemporaryFolder folder_{"redis"};
  std::unique_ptr<ReservedPort> port_ = std::make_unique<ReservedPort>();
  std::unique_ptr<SteppedClock> clock_;
  std::unique_ptr<Process> process_;
  std::size_t log_read_ = 0;  // what this process wrote begins there
  int copies_ = 0;
};

}  // namespace conclave::servers
