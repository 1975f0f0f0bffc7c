#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>

#include "stores/redis/scripts.hpp"

namespace conclave::redis {
namespace {

void replace(std::string& text, std::string_view mark, std::string_view with) {
  if (const auto at = text.find(mark); at != std::string::npos) {
    text.replace(at, mark.size(), with);
  }
}

}  // namespace

std::string text_of(const Script& script, bool with_flags) {
  std::string text = with_flags ? "#!lua flags=" + std::string(script.flags) + "\n" : std::string{};
  text += script.body;
  replace(text, "--common--", script_common);
  replace(text, "--line--", script_line);
  replace(text, "--shown--", script_shown);
  return text;
}

std::string digest_of(std::string_view text) {
  // A loop may go on while the process ends, and must not find OpenSSL taken down.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  std::array<unsigned char, 20> sum{};
  unsigned length = 0;
  EVP_Digest(text.data(), text.size(), sum.data(), &length, EVP_sha1(), nullptr);
  std::string digest;
  for (const unsigned char byte : sum) {
    constexpr std::string_view digits = "0123456789abcdef";
    digest += digits[byte >> 4U];
    digest += digits[byte & 15U];
  }
  return digest;
}

}  // namespace conclave::redis
