#include "servers/pgbouncer_server.hpp"

#include <signal.h>

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "servers/unprivileged.hpp"

namespace conclave::servers {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto glance = 2ms;  // between two looks at a process that cannot tell us
constexpr auto port_patience = 10s;

const char* word(PgBouncerMode mode) {
  switch (mode) {
    case PgBouncerMode::session: return "session";
    case PgBouncerMode::transaction: return "transaction";
    case PgBouncerMode::statement: return "statement";
  }
  return "session";
}

}  // namespace

PgBouncerServer::PgBouncerServer(std::uint16_t server_port, PgBouncerMode mode)
    : server_port_(server_port), mode_(mode) {
  // The port is ours unless somebody asked for this very number: then another one.
  const auto limit = Clock::now() + port_patience;
  while (!launched_on_port()) {
    if (Clock::now() > limit) throw std::runtime_error("no port for PgBouncer: " + last_words());
    port_ = std::make_unique<ReservedPort>();
  }
}

void PgBouncerServer::write_configuration() const {
  std::ofstream(folder_.file("users")) << "\"conclave\" \"\"\n";
  std::ofstream file(folder_.file("pgbouncer.ini"));
  file << "[databases]\n"
       << "* = host=" << PostgresServer::host() << " port=" << server_port_ << "\n"
       << "[pgbouncer]\n"
       << "listen_addr = 127.0.0.1\n"
       << "listen_port = " << port() << "\n"
       << "unix_socket_dir =\n"
       << "auth_type = trust\n"
       << "auth_file = " << folder_.file("users") << "\n"
       << "pool_mode = " << word(mode_) << "\n"
       << "server_login_retry = 0.1\n";  // else a server that was away stays away for 15 s
  if (!file.flush()) throw std::runtime_error("cannot write pgbouncer.ini");
}

// False when somebody else has the port. It says that it is up only when it listens, or failed to.
bool PgBouncerServer::launched_on_port() {
  write_configuration();
  for (const char* const name : {"", "users", "pgbouncer.ini"}) {
    give_to_unprivileged(folder_.file(name));
  }
  log_read_ = log().size();
  process_ = std::make_unique<Process>(
      Launch{unprivileged({CONCLAVE_PGBOUNCER, folder_.file("pgbouncer.ini")}),
             {"LC_ALL=C", "TZ=UTC"},
             folder_.file("log")});
  const auto limit = Clock::now() + patience;
  while (running() && last_words().find("process up") == std::string::npos) {
    if (Clock::now() > limit) break;
    std::this_thread::sleep_for(glance);
  }
  const auto said = last_words();
  if (running() && said.find("listening on 127.0.0.1:") != std::string::npos) return true;
  kill();
  if (said.find("Address already in use") != std::string::npos) return false;
  throw std::runtime_error("PgBouncer is not ready: " + said);
}

std::string PgBouncerServer::last_words() const { return text_of(folder_.file("log"), log_read_); }

std::string PgBouncerServer::url() const {
  return "postgresql://conclave@127.0.0.1:" + std::to_string(port()) + "/postgres";
}

pid_t PgBouncerServer::pid() const {
  if (!process_) throw std::runtime_error("PgBouncer does not run");
  return process_->pid();
}

bool PgBouncerServer::running() { return process_ && !process_->ended(); }

void PgBouncerServer::stop() {
  if (!running()) return;
  ::kill(pid(), SIGTERM);
  process_->resume();
  process_->wait_for_end();
  process_.reset();
}

void PgBouncerServer::kill() {
  if (process_) process_->kill();
  process_.reset();
}

void PgBouncerServer::start() {
  if (running()) return;
  const auto limit = Clock::now() + port_patience;
  while (!launched_on_port()) {
    if (Clock::now() > limit) throw std::runtime_error("PgBouncer's port is taken");
    std::this_thread::sleep_for(glance);
  }
}

void PgBouncerServer::pause() {
  if (!process_) throw std::runtime_error("PgBouncer does not run");
  process_->pause();
}

void PgBouncerServer::resume() {
  if (!process_) throw std::runtime_error("PgBouncer does not run");
  process_->resume();
}

}  // namespace conclave::servers
