#include "net/tls.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>

#include "net/tls_context.hpp"
#include "net/tls_errors.hpp"

namespace conclave::net {
namespace {

// What the certificate has to be for. A name may end in the dot of the root, and an IPv6 address in
// the interface that it is reached by; certificates have neither.
std::string name_of_server(const Endpoint& endpoint) {
  std::string name = endpoint.tls->server_name.empty() ? endpoint.host : endpoint.tls->server_name;
  if (name.find(':') != std::string::npos) name.resize(std::min(name.find('%'), name.size()));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

bool is_address(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(AF_INET, name.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, name.c_str(), address.data()) == 1;
}

}  // namespace

struct Tls::Inner {
  TlsContext context;
  TlsSession session;
  BIO* from_server = nullptr;  // both belong to the session
  BIO* to_server = nullptr;
  TlsFacts facts;
  bool failed = false;

  bool expect(const std::string& name) {
    facts.name = name;
    auto* const expected = ::SSL_get0_param(session.get());
    if (is_address(name)) return ::X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str()) == 1;
    ::X509_VERIFY_PARAM_set_hostflags(expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return ::X509_VERIFY_PARAM_set1_host(expected, name.c_str(), 0) == 1 &&
           SSL_set_tlsext_host_name(session.get(), name.c_str()) == 1;
  }

  // Called when the server asks for a certificate and there is none.
  static int no_certificate(SSL* session, X509** /*certificate*/, EVP_PKEY** /*key*/) {
    static_cast<TlsFacts*>(SSL_get_app_data(session))->asked_for_certificate = true;
    return 0;
  }

  // What a call into OpenSSL that did not succeed means. Empty: it wants more bytes.
  std::optional<Error> problem(int result) {
    const int kind = ::SSL_get_error(session.get(), result);
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) return std::nullopt;
    failed = true;
    if (kind == SSL_ERROR_ZERO_RETURN) {
      return Error{ErrorCode::unavailable,
                   "the connection to " + facts.endpoint + " was closed by the server", true,
                   false};
    }
    return tls_error(facts, ::ERR_peek_error(), ::SSL_get_verify_result(session.get()));
  }
};

Tls::Tls(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {}
Tls::Tls(Tls&&) noexcept = default;
Tls& Tls::operator=(Tls&&) noexcept = default;
Tls::~Tls() = default;

Result<Tls> Tls::make(const Endpoint& endpoint) {
  const TlsOptions& options = *endpoint.tls;
  auto inner = std::make_unique<Inner>();
  inner->facts.endpoint = to_string(endpoint);
  inner->facts.ca_file = options.ca_file;
  inner->facts.certificate_file = options.certificate_file;
  const auto name = name_of_server(endpoint);
  if (name.empty() && !options.skip_verify) {
    return invalid_argument("TLS to " + inner->facts.endpoint +
                            " cannot begin: a Unix socket has no name that the server's "
                            "certificate could be for; set server_name");
  }
  auto context = make_tls_context(options, inner->facts.endpoint);
  if (!context) return context.error();
  inner->context = *std::move(context);
  ::SSL_CTX_set_client_cert_cb(inner->context.get(), &Inner::no_certificate);
  inner->session.reset(::SSL_new(inner->context.get()));
  inner->from_server = ::BIO_new(::BIO_s_mem());
  inner->to_server = ::BIO_new(::BIO_s_mem());
  ::SSL_set_bio(inner->session.get(), inner->from_server, inner->to_server);
  ::SSL_set_connect_state(inner->session.get());
  SSL_set_app_data(inner->session.get(), &inner->facts);
  if (!name.empty() && !inner->expect(name)) {
    return invalid_argument("TLS to " + inner->facts.endpoint + " cannot begin: " + name +
                            " is no name for a server; correct server_name or the host");
  }
  return Tls(std::move(inner));
}

void Tls::feed(std::string_view bytes) {
  std::size_t written = 0;
  ::BIO_write_ex(inner_->from_server, bytes.data(), bytes.size(), &written);
}

bool Tls::is_established() const { return inner_->facts.established; }

std::optional<Error> Tls::shake_hands() {
  ::ERR_clear_error();
  const int result = ::SSL_do_handshake(inner_->session.get());
  if (result != 1) return inner_->problem(result);
  inner_->facts.established = true;
  // Before TLS 1.3 the handshake ends with the server's word, so it has accepted this side.
  inner_->facts.heard = ::SSL_version(inner_->session.get()) < TLS1_3_VERSION;
  return std::nullopt;
}

Result<std::size_t> Tls::read(std::span<char> plain) {
  ::ERR_clear_error();
  std::size_t size = 0;
  const bool came = BIO_pending(inner_->from_server) > 0;
  const int result = ::SSL_read_ex(inner_->session.get(), plain.data(), plain.size(), &size);
  if (result != 1) {
    if (auto error = inner_->problem(result)) return *error;
  }
  if (came) inner_->facts.heard = true;
  return size;
}

std::optional<Error> Tls::write(std::string_view plain) {
  if (plain.empty()) return std::nullopt;
  ::ERR_clear_error();
  std::size_t written = 0;
  const int result = ::SSL_write_ex(inner_->session.get(), plain.data(), plain.size(), &written);
  return result == 1 ? std::nullopt : inner_->problem(result);
}

std::string Tls::take_outgoing() {
  std::string bytes(static_cast<std::size_t>(BIO_pending(inner_->to_server)), '\0');
  std::size_t size = 0;
  if (!bytes.empty()) ::BIO_read_ex(inner_->to_server, bytes.data(), bytes.size(), &size);
  bytes.resize(size);
  return bytes;
}

void Tls::end() {
  if (!inner_->facts.established || inner_->failed) return;
  ::ERR_clear_error();
  ::SSL_shutdown(inner_->session.get());
}

std::optional<Error> Tls::why_it_ended() const { return tls_ended(inner_->facts); }

}  // namespace conclave::net
