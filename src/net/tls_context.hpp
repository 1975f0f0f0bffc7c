// What TLS needs before it meets a server: settings, authorities, the own certificate.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>

#include <conclave/result.hpp>

#include "net/endpoint.hpp"

namespace conclave::net {

struct FreeTls {
  void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
  void operator()(SSL* session) const { ::SSL_free(session); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTls>;
using TlsSession = std::unique_ptr<SSL, FreeTls>;

// `endpoint` is its name in messages.
[[nodiscard]] Result<TlsContext> make_tls_context(const TlsOptions& options,
                                                  const std::string& endpoint);

}  // namespace conclave::net
