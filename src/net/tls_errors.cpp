#include "net/tls_errors.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace conclave::net {
namespace {

Error error(const TlsFacts& facts, ErrorCode code, const std::string& what) {
  return {code, "TLS to " + facts.endpoint + " failed: " + what, false, false};
}

std::string authorities(const TlsFacts& facts) {
  return facts.ca_file.empty() ? "the authorities that this system trusts" : facts.ca_file;
}

Error distrusted(const TlsFacts& facts, long verified) {
  const auto told = [&](const std::string& what) { return error(facts, ErrorCode::denied, what); };
  switch (verified) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return told("the server's certificate, or one of its authority, has expired: renew it");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return told("the server's certificate is not valid yet: check the clocks of both machines");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return told("the server's certificate is not for " + facts.name +
                  ": connect by a name that it has, or set server_name to one");
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return told("the server's certificate comes from nobody in " + authorities(facts) +
                  ": set ca_file to the certificate of its authority");
    default:
      return told(std::string("the server's certificate is refused: ") +
                  ::X509_verify_cert_error_string(verified));
  }
}

// The server has refused this side, and said so.
Error refused(const TlsFacts& facts, const std::string& why) {
  if (facts.certificate_file.empty()) {
    return error(facts, ErrorCode::denied,
                 "the server wants a client certificate: set certificate_file and key_file");
  }
  return error(facts, ErrorCode::denied,
               "the server refuses the client certificate in " + facts.certificate_file + " (" +
                   why + "): is it still valid, and does the server know its authority?");
}

Error no_tls(const TlsFacts& facts) {
  return error(facts, ErrorCode::unsupported,
               "the server does not speak TLS there: correct the port, or connect without TLS");
}

bool is_about_certificates(int reason) {
  switch (reason) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_NO_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR: return true;
    default: return false;
  }
}

}  // namespace

Error tls_error(const TlsFacts& facts, unsigned long code, long verified) {
  const int reason = ERR_GET_REASON(code);
  const char* const found = ::ERR_reason_error_string(code);
  const std::string words = found != nullptr ? found : "OpenSSL gives no reason";
  if (ERR_GET_LIB(code) != ERR_LIB_SSL) return error(facts, ErrorCode::unavailable, words);
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) return distrusted(facts, verified);
  if (is_about_certificates(reason)) return refused(facts, words);
  switch (reason) {
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
      // TLS 1.2 has no better word for a certificate that did not come.
      if (facts.asked_for_certificate && facts.certificate_file.empty()) {
        return refused(facts, words);
      }
      return error(facts, ErrorCode::unsupported,
                   "the server finds no way of encrypting that both sides know");
    case SSL_R_TLSV1_UNRECOGNIZED_NAME:
      return error(facts, ErrorCode::denied,
                   "the server knows nothing of the name " + facts.name + ": set server_name");
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return error(facts, ErrorCode::unsupported,
                   "the server does not speak TLS 1.2 or newer: update it");
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_RECORD_LENGTH_MISMATCH:
    case SSL_R_BAD_RECORD_TYPE:
    case SSL_R_UNEXPECTED_MESSAGE:
      if (!facts.established) return no_tls(facts);
      break;
    default: break;
  }
  Error other = error(facts, ErrorCode::unavailable, words);
  other.retryable = true;
  return other;
}

std::optional<Error> tls_ended(const TlsFacts& facts) {
  if (facts.heard) return std::nullopt;
  if (facts.asked_for_certificate && facts.certificate_file.empty()) {
    return error(facts, ErrorCode::denied,
                 "the server asked for a client certificate and closed the connection when none "
                 "came: set certificate_file and key_file");
  }
  if (facts.established && facts.certificate_file.empty()) return std::nullopt;
  Error ended = error(facts, ErrorCode::unavailable,
                      facts.established
                          ? "the server closed the connection when it had got the client "
                            "certificate in " +
                                facts.certificate_file + ": it may have refused that"
                          : "the server closed the connection during the handshake: does it speak "
                            "TLS there?");
  ended.retryable = true;  // it may as well have been restarted
  return ended;
}

}  // namespace conclave::net
