#include "servers/redis_server.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

namespace conclave::servers {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto glance = 2ms;  // between two looks at a process that cannot tell us
constexpr auto port_patience = 10s;
constexpr std::string_view control_user = "conclave-test";
constexpr std::string_view control_password = "conclave-test";

// As redis.conf wants what may have blanks or quotes in it.
std::string quoted(const std::string& text) {
  std::string all = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') all += '\\';
    all += each;
  }
  return all + '"';
}

std::string_view word(RedisTls::Clients clients) {
  switch (clients) {
    case RedisTls::Clients::without: return "no";
    case RedisTls::Clients::optional: return "optional";
    case RedisTls::Clients::required: return "yes";
  }
  return "no";
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

RedisServer::RedisServer(RedisOptions options) : options_(std::move(options)) {
  if (options_.steppable_clock) clock_ = std::make_unique<SteppedClock>(folder_.file("clock"));
  // The port is ours unless somebody asked for this very number: then another one.
  const auto limit = Clock::now() + port_patience;
  while (!launched_on_port()) {
    if (Clock::now() > limit) throw std::runtime_error("no port for Redis: " + last_words());
    port_ = std::make_unique<ReservedPort>();
  }
}

RedisServer::~RedisServer() = default;

std::vector<std::string> RedisServer::configuration() const {
  const auto port = std::to_string(options_.tcp ? port_->number() : 0);
  std::vector<std::string> lines = {
      "daemonize no",
      "bind 127.0.0.1",
      (options_.tls ? "tls-port " : "port ") + port,
      "dir " + quoted(folder_.path()),
      "unixsocket " + quoted(unix_path()),
      "unixsocketperm 700",
      "user " + std::string(control_user) + " on >" + std::string(control_password) +
          " ~* &* +@all",
  };
  if (options_.tls) {
    lines.insert(lines.end(), {"port 0", "tls-cert-file " + quoted(options_.tls->certificate),
                               "tls-key-file " + quoted(options_.tls->key),
                               "tls-ca-cert-file " + quoted(options_.tls->authority),
                               "tls-auth-clients " + std::string(word(options_.tls->clients))});
  }
  if (!options_.password.empty()) lines.push_back("requirepass " + quoted(options_.password));
  for (const auto& user : options_.users) lines.push_back("user " + user);
  if (options_.append_only) {
    lines.insert(lines.end(), {"appendonly yes", "appendfsync always"});
  }
  if (options_.save.empty()) lines.emplace_back("save \"\"");
  for (const auto& rule : options_.save) lines.push_back("save " + rule);
  if (!options_.max_memory.empty()) lines.push_back("maxmemory " + options_.max_memory);
  if (!options_.max_memory_policy.empty()) {
    lines.push_back("maxmemory-policy " + options_.max_memory_policy);
  }
  lines.insert(lines.end(), options_.extra.begin(), options_.extra.end());
  return lines;
}

void RedisServer::write_configuration() const {
  std::ofstream file(folder_.file("redis.conf"));
  for (const auto& line : configuration()) file << line << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write redis.conf");
}

// False when somebody else has the port.
bool RedisServer::launched_on_port() {
  write_configuration();
  log_read_ = log().size();
  process_ =
      std::make_unique<Process>(Launch{{CONCLAVE_REDIS_SERVER, folder_.file("redis.conf")},
                                       clock_ ? clock_->environment() : std::vector<std::string>{},
                                       folder_.file("log")});
  try {
    wait_until_ready();
    return true;
  } catch (const std::runtime_error&) {
    const bool in_use = last_words().find("Address already in use") != std::string::npos;
    if (process_->ended() && in_use) return false;
    process_.reset();
    throw;
  }
}

void RedisServer::launch() {
  const auto limit = Clock::now() + port_patience;
  while (!launched_on_port()) {
    if (Clock::now() > limit) throw std::runtime_error("Redis' port is taken: " + last_words());
    std::this_thread::sleep_for(glance);
  }
}

// Redis opens the Unix socket after its port, and nobody else has that path: who answers there is
// this server, and it has its port.
void RedisServer::wait_until_ready() {
  const auto limit = Clock::now() + patience;
  std::string trouble = "it does not run";
  while (running()) {
    if (Clock::now() > limit) throw std::runtime_error("Redis is not ready: " + trouble);
    try {
      const auto reply = ask({"PING"});
      if (reply.kind == Reply::Kind::status) return;
      trouble = reply.text;
    } catch (const std::runtime_error& why) {
      trouble = why.what();
    }
    std::this_thread::sleep_for(glance);
  }
  throw std::runtime_error("Redis is not ready: " + trouble + "\n" + last_words());
}

std::string RedisServer::last_words() const { return text_of(folder_.file("log"), log_read_); }

pid_t RedisServer::pid() const {
  if (!process_) throw std::runtime_error("Redis does not run");
  return process_->pid();
}

bool RedisServer::running() { return process_ && !process_->ended(); }

void RedisServer::shut_down(const char* how) {
  if (!running()) return;
  resume();  // else it would not hear
  try {
    const auto refusal = ask({"SHUTDOWN", how});
    throw std::logic_error("Redis does not shut down: " + refusal.text);
  } catch (const std::runtime_error&) {
    // It closed the connection, as it should.
  }
  process_->wait_for_end();
  process_.reset();
}

void RedisServer::stop() { shut_down("NOSAVE"); }

void RedisServer::kill() {
  if (process_) process_->kill();
  process_.reset();
}

void RedisServer::start() {
  if (!running()) launch();
}

void RedisServer::restart_with_data() {
  shut_down("SAVE");
  launch();
}

void RedisServer::restart_without_data() {
  stop();
  remove_data();
  launch();
}

void RedisServer::remove_data() const {
  std::filesystem::remove(folder_.file("dump.rdb"));
  std::filesystem::remove_all(folder_.file("appendonlydir"));
}

std::string RedisServer::save_rdb() {
  auto copy = folder_.file("copy-" + std::to_string(++copies_) + ".rdb");
  command({"SAVE"});
  std::filesystem::copy_file(folder_.file("dump.rdb"), copy);
  return copy;
}

void RedisServer::restore_rdb(const std::string& copy) {
  if (options_.append_only) {
    throw std::logic_error("Redis would not read the snapshot: it has an append-only file");
  }
  stop();
  std::filesystem::copy_file(copy, folder_.file("dump.rdb"),
                             std::filesystem::copy_options::overwrite_existing);
  launch();
}

void RedisServer::pause() {
  if (!process_) throw std::runtime_error("Redis does not run");
  process_->pause();
}

void RedisServer::resume() {
  if (!process_) throw std::runtime_error("Redis does not run");
  process_->resume();
}

void RedisServer::step_clock(std::chrono::nanoseconds by) {
  if (!clock_) throw std::logic_error("set steppable_clock to step the clock of Redis");
  clock_->step(by);
}

RedisClient RedisServer::client() const {
  auto client = RedisClient::at_path(unix_path());
  client.command({"AUTH", std::string(control_user), std::string(control_password)});
  return client;
}

Reply RedisServer::ask(const RedisCommand& command) const { return client().ask(command); }

Reply RedisServer::command(const RedisCommand& command) const { return client().command(command); }

std::vector<std::string> RedisServer::lines(const RedisCommand& command) const {
  const auto reply = this->command(command);
  if (reply.kind != Reply::Kind::list) return split(reply.text);
  std::vector<std::string> lines;
  for (const auto& each : reply.elements) {
    lines.push_back(each.kind == Reply::Kind::number ? std::to_string(each.number) : each.text);
  }
  return lines;
}

std::string RedisServer::info(const std::string& section, const std::string& field) const {
  for (const auto& line : lines({"INFO", section})) {
    if (line.starts_with(field + ":")) return line.substr(field.size() + 1);
  }
  throw std::runtime_error("INFO " + section + " says nothing of " + field);
}

}  // namespace conclave::servers
