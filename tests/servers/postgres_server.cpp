#include "servers/postgres_server.hpp"

#include <signal.h>
#include <sys/shm.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "servers/postgres_template.hpp"
#include "servers/unprivileged.hpp"

namespace conclave::servers {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto glance = 2ms;  // between two looks at a process that cannot tell us
constexpr auto port_patience = 10s;

// As postgresql.conf and pg_hba.conf want it, with their kind of quotes.
std::string quoted(const std::string& text, char quote) {
  std::string all(1, quote);
  for (const char each : text) {
    if (each == quote) all += each;
    all += each;
  }
  return all + quote;
}

std::string percent_encoded(const std::string& text) {
  constexpr auto digits = "0123456789ABCDEF";
  std::string all;
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    ((all += '%') += digits[byte / 16]) += digits[byte % 16];
  }
  return all;
}

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines;
  std::istringstream stream(text_of(file));
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

PostgresServer::PostgresServer(PostgresOptions options) : options_(std::move(options)) {
  give_to_unprivileged(folder_.path());
  make_postgres_data(folder_.file("data"));
  launch_on_any_port();
  make_users();
}

// What it needs to keep up is kept for it by a slot of its name.
PostgresServer::PostgresServer(const PostgresServer& primary, const std::string& name)
    : options_(primary.options_),
      following_{
          "primary_conninfo = " + quoted(primary.connection() + " application_name=" + name, '\''),
          "primary_slot_name = " + name, "wal_retrieve_retry_interval = '100ms'"} {
  give_to_unprivileged(folder_.path());
  run({unprivileged({postgres_program("pg_basebackup"), "--dbname=" + primary.connection(),
                     "--pgdata=" + folder_.file("data"), "--create-slot", "--slot=" + name,
                     "--checkpoint=fast", "--no-sync"}),
       {"LC_ALL=C"},
       folder_.file("backup-log")});
  write("standby.signal", {});
  give_to_unprivileged(in_data("standby.signal"));
  launch_on_any_port();
}

PostgresServer::~PostgresServer() {
  try {
    kill();
  } catch (const std::exception&) {
    // The processes die with the test, if not before.
  }
}

// The port is ours unless somebody asked for this very number: then another one.
void PostgresServer::launch_on_any_port() {
  if (options_.steppable_clock) {
    clock_ = std::make_unique<SteppedClock>(folder_.file("clock"));
    give_to_unprivileged(folder_.file("clock"));
  }
  const auto limit = Clock::now() + port_patience;
  while (!launched_on_port()) {
    if (Clock::now() > limit) throw std::runtime_error("no port for PostgreSQL: " + last_words());
    port_ = std::make_unique<ReservedPort>();
  }
}

std::string PostgresServer::in_data(const std::string& name) const {
  return folder_.file("data/" + name);
}

// What has to be small is, so that many servers fit on one machine. Nothing happens by itself that
// a test did not ask for. Its memory is in files that go with the folder.
std::vector<std::string> PostgresServer::configuration() const {
  std::vector<std::string> lines{"listen_addresses = '127.0.0.1'",
                                 "port = " + std::to_string(port()),
                                 "unix_socket_directories = " + quoted(unix_folder(), '\''),
                                 "max_connections = 100",
                                 "shared_buffers = '4MB'",
                                 "dynamic_shared_memory_type = mmap",
                                 "max_wal_size = '64MB'",
                                 "checkpoint_warning = 0",
                                 "autovacuum = off",
                                 "jit = off",
                                 "timezone = 'UTC'",
                                 "log_timezone = 'UTC'",
                                 "log_line_prefix = '%m [%p] '"};
  if (!options_.durable) {
    lines.insert(lines.end(), {"fsync = off", "full_page_writes = off"});
  }
  if (options_.tls) {
    lines.insert(lines.end(), {"ssl = on", "ssl_cert_file = 'server.crt'",
                               "ssl_key_file = 'server.key'", "ssl_ca_file = 'authority.crt'"});
  }
  lines.insert(lines.end(), following_.begin(), following_.end());
  lines.insert(lines.end(), options_.extra.begin(), options_.extra.end());
  return lines;
}

std::vector<std::string> PostgresServer::access() const {
  const std::string over_tcp = options_.tls ? "hostssl" : "host";
  const std::string certified =
      options_.tls && options_.tls->clients_required ? " clientcert=verify-ca" : "";
  std::vector<std::string> lines{"local all,replication conclave trust",
                                 over_tcp + " all conclave 127.0.0.1/32 trust" + certified};
  for (const auto& user : options_.users) {
    lines.push_back("local all " + quoted(user.name, '"') + " scram-sha-256");
    lines.push_back(over_tcp + " all " + quoted(user.name, '"') + " 127.0.0.1/32 scram-sha-256" +
                    certified);
  }
  return lines;
}

void PostgresServer::write(const std::string& file, const std::vector<std::string>& lines) const {
  std::ofstream stream(in_data(file));
  for (const auto& line : lines) stream << line << '\n';
  if (!stream.flush()) throw std::runtime_error("cannot write " + file);
}

// It takes a key only from a file that nobody else can read.
void PostgresServer::write_configuration() const {
  write("postgresql.conf", configuration());
  write("pg_hba.conf", access());
  if (!options_.tls) return;
  const std::map<std::string, std::string> files{{"server.crt", options_.tls->certificate},
                                                 {"server.key", options_.tls->key},
                                                 {"authority.crt", options_.tls->authority}};
  for (const auto& [name, from] : files) {
    namespace fs = std::filesystem;
    fs::copy_file(from, in_data(name), fs::copy_options::overwrite_existing);
    fs::permissions(in_data(name), fs::perms::owner_read | fs::perms::owner_write);
    give_to_unprivileged(in_data(name));
  }
}

// False when somebody else has the port.
bool PostgresServer::launched_on_port() {
  write_configuration();
  log_read_ = log().size();
  std::vector<std::string> environment{"LC_ALL=C", "TZ=UTC"};
  if (clock_) {
    const auto of_clock = clock_->environment();
    environment.insert(environment.end(), of_clock.begin(), of_clock.end());
  }
  process_ = std::make_unique<Process>(
      Launch{unprivileged({postgres_program("postgres"), "-D", folder_.file("data")}), environment,
             folder_.file("log")});
  try {
    wait_until_ready();
    lend_shared_memory();
    return true;
  } catch (const std::runtime_error&) {
    const bool in_use = last_words().find("Address already in use") != std::string::npos;
    if (process_->ended() && in_use) return false;
    kill();
    throw;
  }
}

void PostgresServer::launch() {
  const auto limit = Clock::now() + port_patience;
  while (!launched_on_port()) {
    if (Clock::now() > limit) {
      throw std::runtime_error("PostgreSQL's port is taken: " + last_words());
    }
    std::this_thread::sleep_for(glance);
  }
}

// As pg_ctl looks at it: a file in the data folder begins with the number of the process that owns
// the folder, and its eighth line says how far that is. No connection that fails, and no complaint
// in the log.
bool PostgresServer::ready() const {
  const auto lines = lines_of(in_data("postmaster.pid"));
  return lines.size() >= 8 && lines[0] == std::to_string(pid()) && lines[7].starts_with("ready");
}

void PostgresServer::wait_until_ready() {
  const auto limit = Clock::now() + patience;
  while (running()) {
    if (ready()) return;
    if (Clock::now() > limit) break;
    std::this_thread::sleep_for(glance);
  }
  throw std::runtime_error("PostgreSQL is not ready: " + last_words());
}

void PostgresServer::make_users() const {
  for (const auto& user : options_.users) {
    exec(value("SELECT format('CREATE ROLE %I LOGIN PASSWORD %L %s', $1::text, $2::text, $3::text)",
               {user.name, user.password, user.attributes}));
  }
}

std::string PostgresServer::last_words() const { return text_of(folder_.file("log"), log_read_); }

std::string PostgresServer::url() const {
  return "postgresql://conclave@" + host() + ":" + std::to_string(port()) + "/postgres";
}

std::string PostgresServer::url(const PostgresUser& user) const {
  return "postgresql://" + percent_encoded(user.name) + ":" + percent_encoded(user.password) + "@" +
         host() + ":" + std::to_string(port()) + "/postgres";
}

pid_t PostgresServer::pid() const {
  if (!process_) throw std::runtime_error("PostgreSQL does not run");
  return process_->pid();
}

bool PostgresServer::running() { return process_ && !process_->ended(); }

// The signal first, so that it is the first thing they see when they wake.
void PostgresServer::shut_down(int signal) {
  if (!running()) return;
  ::kill(pid(), signal);
  paused_backends_.clear();
  resume();
  process_->wait_for_end();
  process_.reset();
}

void PostgresServer::stop() { shut_down(SIGINT); }

void PostgresServer::stop_immediately() { shut_down(SIGQUIT); }

// Backends would go by themselves when they see that the postmaster has gone, but one that computes
// or stands still does not see it, and who starts too early finds the data folder in use. A
// postmaster that stands still makes no new ones.
void PostgresServer::kill() {
  if (running()) {
    process_->pause();
    const auto backends = children_of(pid());
    process_->kill();
    kill_all(backends);
  }
  process_.reset();
  paused_.reset();
  paused_backends_.clear();
}

// Of the two kinds of memory that it shares, one is a small block that outlives a killed server.
// Marked so, it goes with the last process that has it.
void PostgresServer::lend_shared_memory() const {
  const auto lines = lines_of(in_data("postmaster.pid"));
  unsigned long key = 0;
  int block = -1;
  if (std::istringstream(lines.at(6)) >> key >> block) ::shmctl(block, IPC_RMID, nullptr);
}

void PostgresServer::start() {
  if (!running()) launch();
}

void PostgresServer::restart() {
  stop();
  launch();
}

void PostgresServer::pause() {
  if (!running()) throw std::runtime_error("PostgreSQL does not run");
  if (paused_) return;
  process_->pause();
  auto backends = children_of(pid());
  std::erase_if(backends, [this](pid_t each) { return paused_backends_.contains(each); });
  paused_ = std::make_unique<Standstill>(std::move(backends));
}

void PostgresServer::resume() {
  paused_.reset();
  if (running()) process_->resume();
}

void PostgresServer::pause_backend(pid_t backend) {
  if (paused_backends_.contains(backend) || (paused_ && paused_->holds(backend))) {
    throw std::logic_error("that backend stands still already");
  }
  paused_backends_.emplace(backend, std::make_unique<Standstill>(std::vector<pid_t>{backend}));
}

void PostgresServer::resume_backend(pid_t backend) { paused_backends_.erase(backend); }

std::unique_ptr<PostgresServer> PostgresServer::standby() {
  const auto name = "standby_" + std::to_string(++standbys_);
  std::unique_ptr<PostgresServer> made(new PostgresServer(*this, name));
  auto client = this->client();
  client.exec("ALTER SYSTEM SET synchronous_standby_names = '*'");
  client.exec("SELECT pg_reload_conf()");
  const auto limit = Clock::now() + patience;
  while (client.exec("SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'").empty()) {
    if (Clock::now() > limit) throw std::runtime_error("no standby follows: " + made->log());
    std::this_thread::sleep_for(glance);
  }
  return made;
}

void PostgresServer::promote() {
  if (value("SELECT pg_promote()") != "t") throw std::runtime_error("not promoted: " + log());
}

void PostgresServer::step_clock(std::chrono::nanoseconds by) {
  if (!clock_) throw std::logic_error("set steppable_clock to step the clock of PostgreSQL");
  clock_->step(by);
}

std::string PostgresServer::connection() const {
  return "host=" + unix_folder() + " port=" + std::to_string(port()) +
         " user=conclave dbname=postgres";
}

PostgresClient PostgresServer::client() const { return PostgresClient(connection()); }

PostgresRows PostgresServer::exec(const std::string& sql,
                                  const PostgresParameters& parameters) const {
  return client().exec(sql, parameters);
}

std::string PostgresServer::value(const std::string& sql,
                                  const PostgresParameters& parameters) const {
  return client().value(sql, parameters);
}

std::vector<pid_t> PostgresServer::backends(const std::string& where) const {
  std::vector<pid_t> all;
  for (const auto& row : exec("SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                              " AND backend_type = 'client backend' AND (" +
                              where + ") ORDER BY pid")) {
    all.push_back(static_cast<pid_t>(std::stol(row.at(0).value())));
  }
  return all;
}

}  // namespace conclave::servers
