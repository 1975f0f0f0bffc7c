#include "fault/tcp_gate.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

namespace conclave::fault {

TcpGate::TcpGate(std::uint16_t target_port)
    : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      listener_(listener_at(port_.number(), SOCK_NONBLOCK)),
      target_port_(target_port) {
  if (!wake_) fail("eventfd");
  thread_ = std::thread([this] { run(); });
}

TcpGate::~TcpGate() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake();
  thread_.join();
}

// ---------------------------------------------------------------- the switches, in any thread

void TcpGate::wake() const {
  const std::uint64_t one = 1;
  static_cast<void>(::write(wake_.get(), &one, sizeof one) < 0);  // full is awake enough
}

void TcpGate::apply(const std::function<void()>& change) {
  std::packaged_task<void()> task(change);
  auto done = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    changes_.push_back(std::move(task));
  }
  wake();
  done.get();
}

void TcpGate::pass() {
  apply([this] {
    to_target_ = to_client_ = {};
    if (!listener_) listener_ = listener_at(port_.number(), SOCK_NONBLOCK);
  });
}

void TcpGate::delay(std::chrono::milliseconds each_way) {
  apply([&] { to_target_.delay = to_client_.delay = each_way; });
}

void TcpGate::delay(Direction direction, std::chrono::milliseconds time) {
  apply([&] { rules(direction).delay = time; });
}

void TcpGate::blackhole() {
  apply([this] { to_target_.silent = to_client_.silent = true; });
}

void TcpGate::blackhole(Direction direction) {
  apply([&] { rules(direction).silent = true; });
}

void TcpGate::half_open() {
  apply([this] {
    for (auto& each : connections_) {
      each.lost = true;
      each.to_target.drop();
      each.to_client.drop();
    }
  });
}

void TcpGate::reset_all() {
  apply([this] {
    for (auto each = connections_.begin(); each != connections_.end();) {
      each = end(each, Flow::Result::broken);
    }
  });
}

void TcpGate::refuse() {
  apply([this] { listener_.close(); });
}

void TcpGate::redirect(std::uint16_t target_port) {
  apply([=, this] { target_port_ = target_port; });
}

void TcpGate::throttle(Direction direction, std::size_t bytes_per_second) {
  apply([&] { rules(direction).rate = std::max<std::size_t>(1, bytes_per_second); });
}

void TcpGate::cut_after(Direction direction, std::uint64_t bytes) {
  apply([&] { rules(direction).cut_after = bytes; });
}

TcpGate::Counters TcpGate::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

bool TcpGate::wait_until(const std::function<bool(const Counters&)>& is_so,
                         std::chrono::seconds limit) const {
  std::unique_lock lock(mutex_);
  return counted_.wait_for(lock, limit, [&] { return is_so(counters_); });
}

// ---------------------------------------------------------------- the thread

void TcpGate::run() {
  while (run_changes()) {
    advance_all();
    wait_for_events();
  }
  connections_.clear();
}

// False when it is time to go.
bool TcpGate::run_changes() {
  std::uint64_t wakes = 0;
  static_cast<void>(::read(wake_.get(), &wakes, sizeof wakes) < 0);
  std::vector<std::packaged_task<void()>> changes;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    changes.swap(changes_);
  }
  for (auto& each : changes) {
    accept_all();  // who had connected before is meant, too
    each();
  }
  return true;
}

void TcpGate::accept_all() {
  while (listener_) {
    Socket client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client) return;
    send_at_once(client);
    connections_.push_back({.client = std::move(client)});
    const std::lock_guard lock(mutex_);
    ++counters_.accepted;
    ++counters_.open;
    counted_.notify_all();
  }
}

TcpGate::Connections::iterator TcpGate::end(Connections::iterator connection, Flow::Result why) {
  const std::lock_guard lock(mutex_);  // so that nobody notices an end that is not counted
  --counters_.open;
  if (why == Flow::Result::cut) ++counters_.cut;
  counted_.notify_all();
  if (why != Flow::Result::fine) {
    connection->client.reset();
    if (connection->target) connection->target.reset();
  }
  return connections_.erase(connection);
}

// A target that refuses is shown to the client as a reset: it has been accepted already.
Flow::Result TcpGate::connect(Connection& connection) {
  auto& target = connection.target;
  if (target) {
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(target.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    connection.connected = error == 0;
    return error == 0 ? Flow::Result::fine : Flow::Result::broken;
  }
  target = Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!target) return Flow::Result::broken;
  send_at_once(target);
  const auto address = servers::loopback(target_port_);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(target.get(), generic, sizeof address) == 0) {
    connection.connected = true;
  } else if (errno != EINPROGRESS) {
    return Flow::Result::broken;
  }
  return Flow::Result::fine;
}

Flow::Result TcpGate::advance(Connection& connection) {
  if (connection.lost) return Flow::Result::fine;
  // A connection that is made in the dark reaches the target when the light is on again.
  if (!connection.target && !to_target_.silent) {
    const auto result = connect(connection);
    if (result != Flow::Result::fine) return result;
  }
  if (!connection.connected) return Flow::Result::fine;
  // Held while bytes are sent, so that nobody receives what is not counted.
  const std::lock_guard lock(mutex_);
  const auto before = counters_.bytes_to_target + counters_.bytes_to_client;
  const auto now = Clock::now();
  auto result = connection.to_target.send(connection.target.get(), to_target_, now,
                                          counters_.bytes_to_target);
  if (result == Flow::Result::fine) {
    result = connection.to_client.send(connection.client.get(), to_client_, now,
                                       counters_.bytes_to_client);
  }
  if (counters_.bytes_to_target + counters_.bytes_to_client != before) counted_.notify_all();
  return result;
}

void TcpGate::advance_all() {
  for (auto each = connections_.begin(); each != connections_.end();) {
    const auto result = advance(*each);
    const bool over = each->lost ? each->to_target.input_ended() && each->to_client.input_ended()
                                 : each->to_target.ended() && each->to_client.ended();
    each = result != Flow::Result::fine || over ? end(each, result) : std::next(each);
  }
}

short TcpGate::events_at_client(const Connection& connection) const {
  if (connection.lost) return connection.to_target.input_ended() ? 0 : POLLIN;
  return static_cast<short>((connection.to_target.wants_input(to_target_) ? POLLIN : 0) |
                            (connection.to_client.wants_output(to_client_) ? POLLOUT : 0));
}

short TcpGate::events_at_target(const Connection& connection) const {
  if (!connection.target) return 0;
  if (!connection.connected) return connection.lost ? 0 : POLLOUT;
  if (connection.lost) return connection.to_client.input_ended() ? 0 : POLLIN;
  return static_cast<short>((connection.to_client.wants_input(to_client_) ? POLLIN : 0) |
                            (connection.to_target.wants_output(to_target_) ? POLLOUT : 0));
}

// In milliseconds, as poll() takes it.
int TcpGate::time_to_wait() const {
  auto first = Clock::time_point::max();
  for (const auto& each : connections_) {
    if (each.lost || !each.connected) continue;
    first = std::min({first, each.to_target.wakes(to_target_), each.to_client.wakes(to_client_)});
  }
  if (first == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

Flow::Result TcpGate::read(Connection& connection, short at_client, short at_target) {
  const auto now = Clock::now();
  auto& requests = connection.to_target;
  auto& replies = connection.to_client;
  if (connection.lost) {
    if (at_client != 0) requests.swallow(connection.client.get());
    if (at_target != 0) replies.swallow(connection.target.get());
    return Flow::Result::fine;
  }
  auto result = Flow::Result::fine;
  if (at_client != 0 && requests.wants_input(to_target_)) {
    result = requests.read(connection.client.get(), now);
  }
  if (result != Flow::Result::fine || at_target == 0) return result;
  if (!connection.connected) return connect(connection);
  return replies.wants_input(to_client_) ? replies.read(connection.target.get(), now) : result;
}

void TcpGate::wait_for_events() {
  // A descriptor of which nothing is wanted is left out: poll() would report its end again and
  // again.
  const auto entry = [](const Socket& socket, short events) {
    return pollfd{events != 0 ? socket.get() : -1, events, 0};
  };
  std::vector<pollfd> watched = {entry(wake_, POLLIN), entry(listener_, POLLIN)};
  for (const auto& each : connections_) {
    watched.push_back(entry(each.client, events_at_client(each)));
    watched.push_back(entry(each.target, events_at_target(each)));
  }
  if (::poll(watched.data(), watched.size(), time_to_wait()) <= 0) return;
  std::size_t next = 2;
  for (auto each = connections_.begin(); each != connections_.end(); next += 2) {
    const auto result = read(*each, watched[next].revents, watched[next + 1].revents);
    each = result == Flow::Result::fine ? std::next(each) : end(each, result);
  }
  if (watched[1].revents != 0) accept_all();
}

}  // namespace conclave::fault
