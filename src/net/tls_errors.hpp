// OpenSSL's failures in words for the person who has to mend them.
#pragma once

#include <optional>
#include <string>

#include <conclave/error.hpp>

namespace conclave::net {

// What is known of a session when it fails.
struct TlsFacts {
  std::string endpoint{};          // for messages
  std::string name{};              // that the server's certificate has to be for
  std::string ca_file{};           // empty: the system's
  std::string certificate_file{};  // empty: none was given
  bool established = false;
  bool heard = false;  // something came after that, so the server has accepted this side
  bool asked_for_certificate = false;
};

// `code` is OpenSSL's error, `verified` its result of verifying the server's certificate.
[[nodiscard]] Error tls_error(const TlsFacts& facts, unsigned long code, long verified);

// The connection ended without a word of TLS. Empty when nothing points at a reason.
[[nodiscard]] std::optional<Error> tls_ended(const TlsFacts& facts);

}  // namespace conclave::net
