#include "net/stream.hpp"

#include <sys/socket.h>

#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <optional>
#include <system_error>

#include "net/connect.hpp"
#include "net/tls.hpp"

namespace conclave::net {
namespace {

constexpr std::size_t buffer_size = 16384;  // also the most that TLS puts into one record
constexpr int most_reads_in_a_row = 16;     // then others on the loop have their turn
constexpr std::size_t most_kept_capacity = 65536;

}  // namespace

// Outlives the Stream that is destroyed in a handler. Whatever waits holds it weakly.
struct Stream::Core : std::enable_shared_from_this<Core> {
  using Waiter = boost::asio::posix::stream_descriptor;

  Core(AsioLoop& runs_on, Endpoint to, Handlers calls)
      : loop(runs_on),
        endpoint(std::move(to)),
        handlers(std::move(calls)),
        waiter(runs_on.context()) {}
  ~Core() { let_go(); }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Later, if it still matters then.
  void soon(void (Core::*what)()) {
    boost::asio::post(loop.context(), [what, self = weak_from_this()] {
      const auto core = self.lock();
      if (core != nullptr && !core->over) (core.get()->*what)();
    });
  }

  void when(Waiter::wait_type ready, void (Core::*what)()) {
    waiter.async_wait(ready,
                      [what, self = weak_from_this()](const boost::system::error_code& cancelled) {
                        const auto core = self.lock();
                        if (!cancelled && core != nullptr && !core->over) (core.get()->*what)();
                      });
  }

  // ---------------------------------------------------------------- connecting

  void begin() {
    if (endpoint.tls) {
      auto made = Tls::make(endpoint);
      if (!made) return fail(made.error());
      tls.emplace(*std::move(made));
    }
    connecting.emplace(loop, endpoint, [self = weak_from_this()](Result<Descriptor> result) {
      const auto core = self.lock();
      if (core == nullptr || core->over) return;
      if (!result) return core->fail(result.error());
      core->attach(*std::move(result));
    });
  }

  void attach(Descriptor connected) {
    connecting.reset();
    socket = std::move(connected);
    boost::system::error_code unwatched;
    waiter.assign(socket.get(), unwatched);
    if (unwatched) return fail(broken(unwatched.value()));
    when(Waiter::wait_read, &Core::receive);
    if (!tls) return establish();
    if (auto error = tls->shake_hands()) return fail(*error);
    send();
  }

  void establish() {
    established = true;
    if (!pending.empty()) flush_soon();
    if (handlers.connected) handlers.connected();
  }

  // ---------------------------------------------------------------- receiving

  void receive() {
    read_what_is_there();
    if (!over) when(Waiter::wait_read, &Core::receive);
  }

  void read_what_is_there() {
    for (int i = 0; i < most_reads_in_a_row && !over; ++i) {
      const auto size = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (size <= 0) return fail(ended(size < 0 ? errno : 0));
      take({buffer.data(), static_cast<std::size_t>(size)});
      // Less than there was room for: that was all. Waiting notices what comes after.
      if (static_cast<std::size_t>(size) < buffer.size()) return;
    }
  }

  void take(std::string_view bytes) {
    if (!tls) return tell(bytes);
    tls->feed(bytes);
    if (!tls->is_established()) {
      if (auto error = tls->shake_hands()) return fail(*error);
      if (tls->is_established()) establish();
    }
    while (!over && tls->is_established()) {
      const auto size = tls->read(plain);
      if (!size) return fail(size.error());
      if (*size == 0) break;
      tell({plain.data(), *size});
    }
    if (!over) send();  // the handshake's next step, or an answer to a change of keys
  }

  void tell(std::string_view bytes) const {
    if (handlers.received) handlers.received(bytes);
  }

  // ---------------------------------------------------------------- sending

  void write(std::string bytes) {
    if (over || bytes.empty()) return;
    if (pending.empty()) {
      pending = std::move(bytes);
    } else {
      pending += bytes;
    }
    if (established && !flushing) send_at_once();
  }

  // The first of a turn does not wait for what else the loop has to do; what is written after it
  // goes together. Whatever fails here fails again in the flush, where it may be told.
  void send_at_once() {
    flush_soon();
    if (tls || waiting_to_send || !outgoing.empty()) return;
    const auto size =
        ::send(socket.get(), pending.data(), pending.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size > 0) pending.erase(0, static_cast<std::size_t>(size));
  }

  void flush_soon() {
    if (!std::exchange(flushing, true)) soon(&Core::flush);
  }

  void flush() {
    flushing = false;
    if (tls) {
      if (auto error = tls->write(pending)) return fail(*error);
    } else if (outgoing.empty()) {
      outgoing.swap(pending);
    } else {
      outgoing += pending;
    }
    pending.clear();
    send();
  }

  void send() {
    if (tls) outgoing += tls->take_outgoing();
    if (!waiting_to_send) send_what_goes();
  }

  void send_what_goes() {
    waiting_to_send = false;
    while (sent < outgoing.size()) {
      const auto size =
          ::send(socket.get(), outgoing.data() + sent, outgoing.size() - sent, MSG_NOSIGNAL);
      if (size >= 0) {
        sent += static_cast<std::size_t>(size);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        waiting_to_send = true;
        return when(Waiter::wait_write, &Core::send_what_goes);
      } else if (errno != EINTR) {
        return fail_to_send(errno);
      }
    }
    outgoing.clear();
    sent = 0;
    if (outgoing.capacity() > most_kept_capacity) outgoing.shrink_to_fit();
  }

  // A server that closes the connection may have said why before.
  void fail_to_send(int failure) {
    read_what_is_there();
    if (!over) fail(ended(failure));
  }

  // ---------------------------------------------------------------- the end

  [[nodiscard]] Error ended(int failure) const {
    if (tls) {
      if (auto error = tls->why_it_ended()) return *error;
    }
    return broken(failure);
  }

  [[nodiscard]] Error broken(int failure) const {
    const std::string to = "the connection to " + to_string(endpoint);
    return {ErrorCode::unavailable,
            failure == 0 ? to + " was closed by the server"
                         : to + " broke: " + std::generic_category().message(failure),
            true, false};
  }

  void fail(const Error& error) {
    end();
    if (handlers.failed) handlers.failed(error);
  }

  void end() {
    if (std::exchange(over, true)) return;
    connecting.reset();
    if (socket && tls) say_goodbye();
    let_go();
    socket.reset();
  }

  // So that the server logs why; when there is no room, then not.
  void say_goodbye() {
    if (!outgoing.empty()) return;  // half of a record may be gone: nothing fits behind it
    tls->end();
    const auto last = tls->take_outgoing();
    if (last.empty()) return;
    static_cast<void>(::send(socket.get(), last.data(), last.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }

  void let_go() {
    if (waiter.is_open()) waiter.release();
  }

  AsioLoop& loop;
  const Endpoint endpoint;
  const Handlers handlers;
  std::optional<Connecting> connecting{};
  std::optional<Tls> tls{};
  Descriptor socket{};
  Waiter waiter;  // borrows the socket

  bool established = false;
  bool over = false;
  bool flushing = false;         // a flush is on its way
  bool waiting_to_send = false;  // for room in the kernel
  std::string pending{};         // as it was written
  std::string outgoing{};        // as it goes over the wire
  std::size_t sent = 0;          // of outgoing
  std::array<char, buffer_size> buffer{};
  std::array<char, buffer_size> plain{};
};

Stream::Stream(AsioLoop& loop, Endpoint endpoint, Handlers handlers)
    : core_(std::make_shared<Core>(loop, std::move(endpoint), std::move(handlers))) {
  core_->soon(&Core::begin);
}

Stream::~Stream() {
  if (fork_.in_child()) {
    leave_alone(std::move(core_));
  } else {
    core_->end();
  }
}

void Stream::write(std::string bytes) {
  if (!fork_.in_child()) core_->write(std::move(bytes));
}

void Stream::close() {
  if (!fork_.in_child()) core_->end();
}

std::string_view Stream::waits_for() const {
  if (core_->established) return "bytes";
  if (core_->socket) return "an answer to the TLS handshake";
  const bool looks_up = core_->connecting && core_->connecting->is_looking_up();
  return looks_up ? "the DNS" : "an answer to the connection";
}

}  // namespace conclave::net
