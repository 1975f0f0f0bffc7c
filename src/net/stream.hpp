// A stream of bytes to a server: TCP, TLS over it, or a Unix socket.
//
//   Stream stream(loop, {.host = "127.0.0.1", .port = 6379},
//                 {.connected = ..., .received = ..., .failed = ...});
//   stream.write("PING\r\n");
//
// All on the loop's thread, the constructor and the destructor too. Handlers are never called
// inside a call of the stream, and never after close(); they may close and destroy the stream.
//
// No time is limited here: who has waited long enough destroys it. In a child after fork() the
// socket is closed before fork() returns, nothing is sent, and every call does nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <conclave/error.hpp>
#include <conclave/export.hpp>

#include "net/asio_loop.hpp"
#include "net/endpoint.hpp"
#include "net/fork.hpp"

namespace conclave::net {

class CONCLAVE_API Stream {
 public:
  struct Handlers {
    std::function<void()> connected{};  // with TLS: the server's certificate has been verified
    std::function<void(std::string_view)> received{};  // bytes as they come
    // Could not connect, or broken, or closed by the server, also when that only stopped sending:
    // once, and nothing after it. Whether a request was executed is not known here: in_doubt is
    // for the owner to set.
    std::function<void(const Error&)> failed{};
  };

  // Begins to connect. Names are looked up without blocking, and all addresses are tried.
  Stream(AsioLoop& loop, Endpoint endpoint, Handlers handlers);
  ~Stream();  // as close()
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Queued without a limit, until there is a connection and the server takes it. The first
  // bytes of a turn of the loop go at once, all others of that turn in one system call. Nothing
  // after close() and failed.
  void write(std::string bytes);

  // What the kernel has not taken by now is dropped.
  void close();

  // What it waits for, for the message when its owner has waited too long: "the DNS", "an answer to
  // the connection", "an answer to the TLS handshake", "bytes".
  [[nodiscard]] std::string_view waits_for() const;

 private:
  struct Core;
  std::shared_ptr<Core> core_;
  ForkMark fork_;
};

}  // namespace conclave::net
