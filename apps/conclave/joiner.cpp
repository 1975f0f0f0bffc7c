#include "apps/conclave/joiner.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "apps/conclave/clock.hpp"

namespace conclave::app {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

Said said_in(const std::string& line) {
  Said said;
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (json.is_discarded()) return said;
  said.candidate = json.value("candidate", "");
  said.event = json.value("event", "");
  said.at = Instant{Duration{json.value("at_ns", std::int64_t{0})}};
  said.term = json.value("term", std::uint64_t{0});
  said.valid_until = Instant{Duration{json.value("valid_until_ns", std::int64_t{0})}};
  said.reason = json.value("reason", "");
  said.leader = json.value("leader", "");
  if (said.event == "error" && !json.value("retryable", true)) {
    said.refusal = json.value("message", "");
  }
  return said;
}

}  // namespace

// The store's URL may hold a password, so it travels neither in the arguments nor in the
// environment, but as a configuration file that is a pipe.
Joiner::Joiner(const StoreArguments& store, const std::string& election, std::string id)
    : id_(std::move(id)) {
  std::array<int, 2> output{};
  std::array<int, 2> config{};
  if (::pipe2(output.data(), O_CLOEXEC) != 0 || ::pipe2(config.data(), O_CLOEXEC) != 0) {
    fail("a pipe could not be made");
  }
  std::vector<std::string> arguments = {"conclave", "join", "--json",   "--election", election,
                                        "--id",     id_,    "--config", "/dev/stdin"};
  if (store.options.lease) {
    arguments.emplace_back("--lease");
    arguments.push_back(std::to_string(store.options.lease->count()) + "ns");
  }
  std::vector<char*> pointers;
  for (std::string& each : arguments) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  std::vector<char*> environment;
  for (char** each = environ; *each != nullptr; ++each) {
    if (std::string_view(*each).substr(0, 9) != "CONCLAVE_") environment.push_back(*each);
  }
  environment.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) fail("fork failed");
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::dup2(config[0], STDIN_FILENO);
    ::dup2(output[1], STDOUT_FILENO);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve("/proc/self/exe", pointers.data(), environment.data());
    ::_exit(127);
  }
  ::close(config[0]);
  ::close(output[1]);
  const std::string line = "store = " + store.url + "\n";
  // One that has ended already, such as by Ctrl-C, is noticed by its silence.
  const auto written = ::write(config[1], line.data(), line.size());
  const bool told = written == static_cast<ssize_t>(line.size()) || errno == EPIPE;
  ::close(config[1]);
  if (!told) fail("a candidate was not told its store");
  output_ = output[0];
  ::fcntl(output_, F_SETFL, O_NONBLOCK);
}

Joiner::~Joiner() {
  send(SIGKILL);
  wait_for_end();
  if (output_ >= 0) ::close(output_);
}

Joiner::Joiner(Joiner&& other) noexcept
    : id_(std::move(other.id_)),
      pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, -1)),
      rest_(std::move(other.rest_)) {}

Joiner& Joiner::operator=(Joiner&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(pid_, other.pid_);
  std::swap(output_, other.output_);
  std::swap(rest_, other.rest_);
  return *this;
}

void Joiner::send(int signal) const {
  if (pid_ > 0) ::kill(pid_, signal);
}

void Joiner::wait_for_end() {
  while (pid_ > 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

std::vector<Said> Joiner::read() {
  std::array<char, 4096> buffer{};
  ssize_t count = 0;
  while ((count = ::read(output_, buffer.data(), buffer.size())) > 0) {
    rest_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  std::vector<Said> all;
  for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
    all.push_back(said_in(rest_.substr(0, end)));
    rest_.erase(0, end + 1);
  }
  if (count == 0) {
    ::close(std::exchange(output_, -1));  // it has ended
  }
  return all;
}

void Crowd::remove(const std::string& id) {
  std::erase_if(joiners_, [&](const Joiner& each) { return each.id() == id; });
}

void Crowd::stop() {
  for (const Joiner& each : joiners_) each.send(SIGTERM);
  for (Joiner& each : joiners_) each.wait_for_end();
}

Joiner& Crowd::at(const std::string& id) {
  const auto found = std::find_if(joiners_.begin(), joiners_.end(),
                                  [&](const Joiner& each) { return each.id() == id; });
  if (found == joiners_.end()) throw std::runtime_error("there is no candidate " + id);
  return *found;
}

std::optional<Said> Crowd::next(Duration limit, int interrupt) {
  const Instant until = boot_now() + limit;
  while (said_.empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - boot_now()).count();
    if (left <= 0) return std::nullopt;
    std::vector<pollfd> wanted{{interrupt, POLLIN, 0}};
    for (const Joiner& each : joiners_) wanted.push_back({each.fd(), POLLIN, 0});
    if (::poll(wanted.data(), wanted.size(), static_cast<int>(left)) <= 0) continue;
    if (wanted.front().revents != 0) return std::nullopt;
    for (Joiner& each : joiners_) {
      if (each.fd() < 0) continue;
      for (Said& said : each.read()) said_.push_back(std::move(said));
    }
    std::stable_sort(said_.begin(), said_.end(),
                     [](const Said& a, const Said& b) { return a.at < b.at; });
  }
  Said said = std::move(said_.front());
  said_.erase(said_.begin());
  return said;
}

}  // namespace conclave::app
