// URLs, above all those of Redis stores: opened or refused with a sentence, and no password shown.
#include <algorithm>
#include <string_view>

#include <conclave/open.hpp>

#include "fuzz/fuzz.hpp"
#include "net/url.hpp"

namespace conclave::fuzz {
namespace {

// Long enough to be told from other words, and nowhere else in the URL.
bool is_secret(const std::string& password, std::string_view url) {
  const auto first = url.find(password);
  return password.size() >= 4 && first != std::string_view::npos &&
         url.find(password, first + 1) == std::string_view::npos &&
         std::all_of(password.begin(), password.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

void take_error(const Error& error) {
  expect(error.code == ErrorCode::invalid_argument, "what is wrong is an argument");
  expect(!error.message.empty(), "an error says something");
}

void take(std::string_view text) {
  const std::string shown = public_url(text);
  const auto url = net::parse_url(text);
  if (!url) {
    take_error(url.error());
    expect(url.error().message.find("geheim") == std::string::npos, "a parser keeps secrets");
    return;
  }
  const bool secret = url->password && is_secret(*url->password, text);
  if (secret) {
    expect(shown.find(*url->password) == std::string::npos, "public_url() hides the password");
  }
  if (!url->scheme.starts_with("redis")) return;
  const auto store = try_open(text);
  if (store) return;
  take_error(store.error());
  if (secret) {
    expect(store.error().message.find(*url->password) == std::string::npos,
           "an error does not tell the password");
  }
}

}  // namespace

std::vector<std::string> seeds() {
  return {
      "redis://127.0.0.1:6379",
      "redis://user:geheim@redis.internal:6380/2?prefix=app:&request_timeout=100ms&lease=2s",
      "redis://:geheim@[::1]:6379/0",
      "redis://user@h?password_file=/run/secret",
      "redis://h?user=u&password=p&database=3",
      "redis://u%40v:geheim%2F%3F%23%40@h:1",
      "rediss://h:1?ca_file=/a&certificate_file=/b&key_file=/c&server_name=n",
      "rediss://u:geheim@h?skip_verify=true",
      "redis+unix:///run/redis.sock?database=1",
      "redis+unix://u:geheim@/run/redis.sock",
      "redis://u:geheim@h/x",
      "redis://geheim1@h",
      "redis://u:p@geheim/geheim@h",
  };
}

std::vector<std::string> words() {
  return {"%",
          "%00",
          "%2",
          "%zz",
          "@",
          ":",
          "/",
          "?",
          "#",
          "&",
          "=",
          "[",
          "]",
          "//",
          "://",
          "redis:",
          "rediss:",
          "redis+unix:",
          "file:",
          "lease=",
          "prefix=",
          "password=",
          "user=",
          "database=",
          "skip_verify=",
          "request_timeout=",
          "65536",
          "-1",
          "18446744073709551616",
          "\xff",
          "\xc3\xa4",
          std::string(1, '\0')};
}

}  // namespace conclave::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  conclave::fuzz::take({reinterpret_cast<const char*>(data), size});
  return 0;
}
