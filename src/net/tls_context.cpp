#include "net/tls_context.hpp"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

namespace conclave::net {
namespace {

// Without this OpenSSL would ask for the password at the terminal, and wait.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*unused*/) { return -1; }

class Files {
 public:
  Files(SSL_CTX* context, const TlsOptions& options, const std::string& endpoint)
      : context_(context), options_(options), endpoint_(endpoint) {}

  std::optional<Error> load_authorities() {
    if (options_.ca_file.empty()) {
      ::SSL_CTX_set_default_verify_paths(context_);  // none there: then nobody is trusted
      return std::nullopt;
    }
    if (auto error = is_readable("ca_file", options_.ca_file)) return error;
    if (::SSL_CTX_load_verify_locations(context_, options_.ca_file.c_str(), nullptr) == 1)
      return std::nullopt;
    return bad("ca_file", options_.ca_file, "holds no certificates in the PEM format");
  }

  std::optional<Error> load_certificate() {
    const auto& certificate = options_.certificate_file;
    const auto& key = options_.key_file;
    if (certificate.empty() && key.empty()) return std::nullopt;
    if (certificate.empty()) return lacks("key_file", "certificate_file");
    if (key.empty()) return lacks("certificate_file", "key_file");
    if (auto error = is_readable("certificate_file", certificate)) return error;
    if (auto error = is_readable("key_file", key)) return error;
    if (::SSL_CTX_use_certificate_chain_file(context_, certificate.c_str()) != 1) {
      return bad("certificate_file", certificate, "holds no usable certificate (" + reason() + ")");
    }
    ::ERR_clear_error();
    if (::SSL_CTX_use_PrivateKey_file(context_, key.c_str(), SSL_FILETYPE_PEM) == 1) {
      return std::nullopt;
    }
    const auto failure = ::ERR_peek_last_error();
    if (ERR_GET_LIB(failure) == ERR_LIB_X509) {
      return bad("key_file", key, "does not belong to the certificate in " + certificate);
    }
    return bad("key_file", key, "holds no private key that can be read without a password");
  }

 private:
  static std::string reason() {
    const char* const words = ::ERR_reason_error_string(::ERR_peek_last_error());
    return words != nullptr ? words : "of an unknown kind";
  }

  [[nodiscard]] Error bad(const std::string& option, const std::string& path,
                          const std::string& what) const {
    return invalid_argument("TLS to " + endpoint_ + " cannot begin: the " + option + " " + path +
                            " " + what);
  }

  [[nodiscard]] Error lacks(const std::string& given, const std::string& missing) const {
    return invalid_argument("TLS to " + endpoint_ + " cannot begin: " + given + " is set and " +
                            missing + " is not; a client certificate needs both");
  }

  // OpenSSL's own words for this are hard to understand.
  [[nodiscard]] std::optional<Error> is_readable(const std::string& option,
                                                 const std::string& path) const {
    const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (opened < 0) {
      return bad(option, path, "cannot be read: " + std::generic_category().message(errno));
    }
    ::close(opened);
    return std::nullopt;
  }

  SSL_CTX* context_;
  const TlsOptions& options_;
  const std::string& endpoint_;
};

}  // namespace

Result<TlsContext> make_tls_context(const TlsOptions& options, const std::string& endpoint) {
  // A loop may go on while the process ends, and must not find OpenSSL taken down.
  ::OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);
  ::ERR_clear_error();
  TlsContext context(::SSL_CTX_new(::TLS_client_method()));
  if (context == nullptr) {
    return Error{ErrorCode::unavailable, "TLS to " + endpoint + " cannot begin: OpenSSL fails",
                 true, false};
  }
  ::SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  ::SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  ::SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  ::SSL_CTX_set_default_passwd_cb(context.get(), no_password);
  ::SSL_CTX_set_verify(context.get(), options.skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                       nullptr);
  Files files(context.get(), options, endpoint);
  if (auto error = options.skip_verify ? std::nullopt : files.load_authorities()) return *error;
  if (auto error = files.load_certificate()) return *error;
  return context;
}

}  // namespace conclave::net
