// A TCP proxy in front of a server on 127.0.0.1, which does to connections what bad networks do.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "fault/flow.hpp"
#include "fault/socket.hpp"
#include "servers/reserved_port.hpp"

namespace conclave::fault {

enum class Direction { to_target, to_client };

// Any thread may turn the switches; when such a call returns, its effect has begun, also for
// clients that had connected before. Delay, throttle, cut, silence and refusal add up, and pass()
// ends them all.
class TcpGate {
 public:
  struct Counters {
    std::uint64_t accepted = 0;         // connections, ever
    std::uint64_t open = 0;             // connections, now
    std::uint64_t cut = 0;              // connections that cut_after() ended
    std::uint64_t bytes_to_target = 0;  // passed on
    std::uint64_t bytes_to_client = 0;
  };

  explicit TcpGate(std::uint16_t target_port);
  ~TcpGate();  // closes everything, and waits for its thread
  TcpGate(const TcpGate&) = delete;
  TcpGate& operator=(const TcpGate&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_.number(); }

  // Everything passes again. What was held back arrives, in order, as with TCP.
  void pass();

  // Each byte arrives so much later than it could.
  void delay(std::chrono::milliseconds each_way);
  void delay(Direction direction, std::chrono::milliseconds time);

  // Nothing is read and nothing arrives; connections stay open, and new ones are still accepted.
  // They reach the target afterwards. With a direction only what flows in that one: to_client lets
  // requests arrive, and holds the replies.
  void blackhole();
  void blackhole(Direction direction);

  // For good, and for the connections of now only: neither side gets a byte or an end any more, and
  // neither is told. What they send is swallowed.
  void half_open();

  // The connections of now end with an RST at both sides, and what was in flight is lost.
  void reset_all();

  // New connections are refused. Those of now stay.
  void refuse();

  // New connections go there. Those of now stay where they are.
  void redirect(std::uint16_t target_port);

  // For each connection by itself.
  void throttle(Direction direction, std::size_t bytes_per_second);

  // So many bytes more pass in that direction, over whichever connections. Where the next would
  // follow, that connection is reset, and then all pass again. cut_after(to_client, 0) loses a
  // reply to a request that was carried out.
  void cut_after(Direction direction, std::uint64_t bytes);

  // What a client has received, and a reset it was told of, is counted; that it has connected may
  // not be yet.
  [[nodiscard]] Counters counters() const;
  // False when that does not come true in time.
  bool wait_until(const std::function<bool(const Counters&)>& is_so,
                  std::chrono::seconds limit = std::chrono::seconds{60}) const;

 private:
  struct Connection {
    Socket client;
    Socket target{};
    bool connected = false;
    bool lost = false;  // half_open()
    Flow to_target{};
    Flow to_client{};
  };
  using Connections = std::list<Connection>;

  // Everything below belongs to the thread, except what is said to be shared.
  void run();
  void apply(const std::function<void()>& change);
  void wake() const;
  bool run_changes();
  void accept_all();
  void wait_for_events();
  [[nodiscard]] int time_to_wait() const;
  short events_at_client(const Connection& connection) const;
  short events_at_target(const Connection& connection) const;
  [[nodiscard]] Flow::Result read(Connection& connection, short at_client, short at_target);
  [[nodiscard]] Flow::Result connect(Connection& connection);
  [[nodiscard]] Flow::Result advance(Connection& connection);
  void advance_all();
  Connections::iterator end(Connections::iterator connection, Flow::Result why);
  Rules& rules(Direction direction) {
    return direction == Direction::to_target ? to_target_ : to_client_;
  }

  const servers::ReservedPort port_;
  Socket wake_;
  Socket listener_;
  std::uint16_t target_port_;
  Connections connections_;
  Rules to_target_;
  Rules to_client_;

  mutable std::mutex mutex_;  // of the following, which are shared
  mutable std::condition_variable counted_;
  Counters counters_;
  std::vector<std::packaged_task<void()>> changes_;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace conclave::fault
