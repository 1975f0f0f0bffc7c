// The client's side of TLS as a machine without a socket: bytes from the server go in, bytes for
// the server and plain ones come out. By OpenSSL, which only the sources see.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <conclave/result.hpp>

#include "net/endpoint.hpp"

namespace conclave::net {

// TLS 1.2 or newer. The server's certificate is verified, its name too, unless skip_verify says so.
//
// An Error is one sentence for a person. What somebody has to mend first is not retryable: a
// certificate that is refused, a file that is missing or does not fit. Trying again is right all
// the same, for the next session reads the files anew.
class Tls {
 public:
  // Reads the files; endpoint.tls is set.
  [[nodiscard]] static Result<Tls> make(const Endpoint& endpoint);

  // Bytes that came from the server. Then either the handshake goes on, or plain ones are there.
  void feed(std::string_view bytes);

  // As far as it goes by now. Also the first step.
  [[nodiscard]] std::optional<Error> shake_hands();
  [[nodiscard]] bool is_established() const;

  // The next plain bytes; 0 when more have to come first.
  [[nodiscard]] Result<std::size_t> read(std::span<char> plain);
  [[nodiscard]] std::optional<Error> write(std::string_view plain);

  // What the server has to get now. After an error as well: then it tells the server why.
  [[nodiscard]] std::string take_outgoing();

  // Says goodbye to the server.
  void end();

  // The connection has ended below TLS. When how far it had come tells why: that.
  [[nodiscard]] std::optional<Error> why_it_ended() const;

  Tls(Tls&&) noexcept;
  Tls& operator=(Tls&&) noexcept;
  ~Tls();

 private:
  struct Inner;
  explicit Tls(std::unique_ptr<Inner> inner);
  std::unique_ptr<Inner> inner_;
};

}  // namespace conclave::net
