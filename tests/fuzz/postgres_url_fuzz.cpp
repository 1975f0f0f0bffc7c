// URLs and conninfo strings of PostgreSQL stores: taken or refused with a sentence, and no password
// shown.
#include <algorithm>
#include <string_view>

#include "fuzz/fuzz.hpp"
#include "stores/postgres/settings.hpp"
#include "stores/postgres/url.hpp"

namespace conclave::fuzz {
namespace {

constexpr std::string_view secret = "geheim";

// Where it stands once, and as the password, or before an @ that nothing could be made of.
bool is_only_the_password(const std::string& text, const Result<postgres::Given>& given) {
  if (text.find(secret) != text.rfind(secret)) return false;
  if (!given) {
    const auto at = text.find(':', text.find("//") + 2);
    return text.find("//") < at && at < text.find(secret) && text.find(secret) < text.find('@') &&
           text.find('@') != std::string::npos;
  }
  const auto found = given->libpq.find("password");
  return found != given->libpq.end() && found->second.find(secret) != std::string::npos;
}

void take_error(const Error& error) {
  expect(error.code == ErrorCode::invalid_argument, "what is wrong is an argument");
  expect(!error.message.empty(), "an error says something");
  expect(error.message.find(": ") != std::string::npos, "an error names what is wrong");
}

void take(const std::string& text) {
  const auto given = postgres::take_apart(text);
  const bool hides = is_only_the_password(text, given);
  const auto keeps = [&](const std::string& told) {
    expect(!hides || told.find(secret) == std::string::npos, "nothing told contains the password");
  };
  if (!given) {
    take_error(given.error());
    keeps(given.error().message);
    return;
  }
  // libpq would open this file.
  if (given->libpq.contains("service")) return;
  PostgresOptions options;
  options.url = text;
  const auto settings = postgres::settings_of(options);
  if (!settings) {
    take_error(settings.error());
    return keeps(settings.error().message);
  }
  keeps(settings->where);
  expect(settings->lease > Duration::zero() && settings->request_timeout > Duration::zero() &&
             settings->request_timeout <= settings->lease / 2,
         "times fit each other");
  expect(settings->keyword("password").empty(), "the password is kept apart");
}

}  // namespace

std::vector<std::string> seeds() {
  return {
      "postgres://127.0.0.1:5432/postgres",
      "postgresql://user:geheim@db.internal:5433/app?mode=lease&lease=5s&request_timeout=100ms",
      "postgres://:geheim@[::1]:5432/app",
      "postgres://user@h/d?password_file=/run/secret&sslmode=verify-full&sslrootcert=/a",
      "postgres://h/d?user=u&password=geheim&connect_timeout=3",
      "postgres://u%40v:geheim%2F%3F%23%40@h:1/d%20e",
      "postgres://u:geheim@a:1,b:2,[::1]:3/d?target_session_attrs=read-write",
      "postgres:///d?host=/run/postgresql&schema=own&create=false&tables=false&strict=true",
      "host=h port=5432 dbname=d user=u password='gehe im' sslmode=require",
      "host=a,b hostaddr=127.0.0.1,127.0.0.2 port=1,2 dbname='d e'",
      "host=h password=geheim options='-c search_path=x'",
      "postgres://u:geheim@h/x/y",
      "postgres://u:p@geheim/geheim@h",
      "postgres://u:geheim&x@h/d",
      "",
  };
}

std::vector<std::string> words() {
  return {"%",       "%00",      "%2",      "%zz",   "@",        ":",       "/",
          "?",       "#",        "&",       "=",     "[",        "]",       "//",
          "://",     "'",        "\\",      " ",     ",",        "host=",   "hostaddr=",
          "port=",   "postgres", "lease=",  "mode=", "schema=",  "strict=", "password=",
          "user=",   "dbname=",  "tables=", "ssl=",  "65536",    "-1",      "18446744073709551616",
          "sslmode", "\xff",     "\n",      "9e9s",  "advisory", "true",    std::string(1, '\0')};
}

}  // namespace conclave::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  conclave::fuzz::take({reinterpret_cast<const char*>(data), size});
  return 0;
}
