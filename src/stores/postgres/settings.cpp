#include "stores/postgres/settings.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <optional>

#include "net/loopback.hpp"
#include "net/server_options.hpp"
#include "stores/postgres/adopted.hpp"
#include "stores/postgres/hosts.hpp"
#include "stores/postgres/url.hpp"

namespace conclave::postgres {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_schema = 63;

// ---------------------------------------------------------------- what was asked for

Result<bool> yes_or_no(const std::string& name, const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return invalid_argument(name + ": it is neither true nor false: write one of them");
}

std::optional<Error> take(const std::string& name, const std::string& text, PostgresOptions& to) {
  if (name == "mode") {
    if (text != "advisory" && text != "lease") {
      return invalid_argument("mode: it is neither advisory nor lease: write one of them");
    }
    to.mode = text == "lease" ? PostgresMode::lease : PostgresMode::advisory;
  } else if (name == "strict" || name == "create" || name == "tables") {
    const auto value = yes_or_no(name, text);
    if (!value) return value.error();
    (name == "strict" ? to.strict : name == "create" ? to.create : to.tables) = *value;
  } else if (name == "lease" || name == "request_timeout") {
    const auto value = parse_duration(name, text);
    if (!value) return value.error();
    (name == "lease" ? to.lease : to.request_timeout) = *value;
  } else {
    (name == "schema" ? to.schema : to.password_file) = text;
  }
  return std::nullopt;
}

std::optional<Error> check_rest(const PostgresOptions& options) {
  const bool has_credentials = options.credentials != nullptr;
  if (auto error = net::check_sources(options.password, options.password_file, has_credentials)) {
    return error;
  }
  const bool has_password =
      has_credentials || !options.password.empty() || !options.password_file.empty();
  if (options.connection != nullptr && (has_password || !options.url.empty())) {
    return invalid_argument(
        "connection: it is connected already: leave url, password, password_file and credentials "
        "out");
  }
  if (options.password.find('\0') != std::string::npos) {
    return invalid_argument("password: it contains a NUL byte, which PostgreSQL cannot take");
  }
  if (options.schema.size() > longest_schema) {
    return invalid_argument("schema: its name is longer than 63 bytes: shorten it");
  }
  // Also for those who read what `conclave sql` prints, where it stands in comments.
  if (std::any_of(options.schema.begin(), options.schema.end(),
                  [](unsigned char each) { return std::iscntrl(each) != 0; })) {
    return invalid_argument("schema: its name contains a control character: leave it out");
  }
  if (options.strict && options.mode == PostgresMode::lease) {
    return invalid_argument("strict: mode=lease is as strict as it gets: leave one of the two out");
  }
  if (!options.tables && (options.strict || options.mode == PostgresMode::lease)) {
    return invalid_argument(
        "tables: only mode=advisory without strict can do without them: leave tables=false out");
  }
  return std::nullopt;
}

// ---------------------------------------------------------------- what libpq makes of it

struct Effective {
  Words words{};
  Words compiled{};  // libpq's own defaults
};

// With the environment and the service file, without connecting: libpq sees a value that it does
// not know, and stops before.
constexpr const char* stopper = "channel_binding";

Result<Effective> effective(const Words& given) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : given) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  for (auto* list : {&names, &values}) list->push_back(list == &names ? stopper : "?");
  for (auto* list : {&names, &values}) list->push_back(nullptr);
  const std::unique_ptr<PGconn, decltype(&PQfinish)> none(
      PQconnectStartParams(names.data(), values.data(), 0), &PQfinish);
  const std::string_view why = none != nullptr ? PQerrorMessage(none.get()) : "";
  if (why.find(stopper) == std::string_view::npos) {
    const bool is_service = why.find("service") != std::string_view::npos;
    return invalid_argument(is_service
                                ? "service: libpq cannot read its definition: check its name and "
                                  "its file (PGSERVICEFILE, ~/.pg_service.conf)"
                                : "url: the numbers of its hosts, hostaddrs and ports differ: give "
                                  "one for each host, or one port for all");
  }
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> all(PQconninfo(none.get()),
                                                                         &PQconninfoFree);
  Effective found;
  for (const auto* each = all.get(); each != nullptr && each->keyword != nullptr; ++each) {
    if (each->compiled != nullptr) found.compiled.emplace(each->keyword, each->compiled);
    if (each->val != nullptr && *each->val != '\0') found.words.emplace(each->keyword, each->val);
  }
  // What is not passed on libpq takes from where it is, once more.
  for (const char* name : {stopper, "password"}) found.words.erase(name);
  if (const auto kept = given.find(stopper); kept != given.end()) {
    found.words.emplace(kept->first, kept->second);
  }
  return found;
}

// libpq looks at these only when it connects, and then its word comes too late for who wrote them.
std::optional<Error> check_choices(const Words& words) {
  struct Choice {
    const char* name;
    std::string_view values;  // each between spaces
  };
  constexpr std::array choices{
      Choice{"sslmode", " disable allow prefer require verify-ca verify-full "},
      Choice{"target_session_attrs", " any read-write read-only primary standby prefer-standby "},
      Choice{"gssencmode", " disable prefer require "},
      Choice{"channel_binding", " disable prefer require "},
  };
  for (const Choice& each : choices) {
    const auto given = words.find(each.name);
    if (given == words.end()) continue;
    const bool is_word = given->second.find(' ') == std::string::npos;
    if (is_word && each.values.find(" " + given->second + " ") != std::string_view::npos) continue;
    return invalid_argument(std::string(each.name) + ": it is none of" +
                            std::string(each.values.substr(0, each.values.size() - 1)) +
                            ": write one of them");
  }
  return std::nullopt;
}

std::int64_t whole_seconds(Duration time) {
  return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(time).count());
}

Words with_defaults(Effective to, Duration lease) {
  const auto set = [&](const std::string& name, const std::string& value) {
    const auto found = to.words.find(name);
    const auto usual = to.compiled.find(name);
    const bool is_usual =
        found == to.words.end() || (usual != to.compiled.end() && found->second == usual->second);
    if (is_usual) to.words.insert_or_assign(name, value);
  };
  const auto interval = whole_seconds(lease / 8);
  const auto idle = whole_seconds(lease / 4);
  set("application_name", "conclave");
  set("gssencmode", "disable");
  set("keepalives_idle", std::to_string(idle));
  set("keepalives_interval", std::to_string(interval));
  // Not before the lease is over: closing a session too early frees its lock.
  set("keepalives_count", std::to_string(1 + whole_seconds(lease) / interval));
  set("tcp_user_timeout",
      std::to_string(std::chrono::ceil<std::chrono::milliseconds>(lease).count()));
  const auto hosts = targets_in(to.words);
  if (hosts.size() > 1) set("target_session_attrs", "read-write");
  to.words.insert_or_assign("client_encoding", "UTF8");
  return std::move(to.words);
}

// ---------------------------------------------------------------- how it is told

std::string shown(const Target& target) {
  const std::string& name = target.host.empty() ? target.hostaddr : target.host;
  if (name.empty()) return "its usual socket";
  const bool is_ipv6 = !is_socket(name) && name.find(':') != std::string::npos;
  const std::string port = target.port.empty() ? "5432" : target.port;
  return (is_ipv6 ? "[" + name + "]" : name) + ":" + port;
}

// The database is told when somebody has named it: by default it has the user's name, and whoever
// writes postgres://secret@host means a password.
std::string where_is(const Words& words) {
  std::string text = "the PostgreSQL server at ";
  for (const Target& each : targets_in(words)) {
    if (!text.ends_with(' ')) text += ',';
    text += shown(each);
  }
  const auto database = words.find("dbname");
  const auto user = words.find("user");
  const bool is_named =
      database != words.end() && (user == words.end() || database->second != user->second);
  return is_named ? text + "/" + database->second : text;
}

bool is_near(const Words& words) {
  const auto targets = targets_in(words);
  return std::all_of(targets.begin(), targets.end(), [](const Target& each) {
    const std::string& name = each.hostaddr.empty() ? each.host : each.hostaddr;
    return name.empty() || is_socket(name) || net::is_loopback({.host = name});
  });
}

// ---------------------------------------------------------------- passwords

Result<std::string> password_in_file(const std::string& path) {
  auto password = net::password_in_file(path);
  if (password && password->find('\0') != std::string::npos) {
    return Error{ErrorCode::denied,
                 "password_file: " + path + " contains a NUL byte, which PostgreSQL cannot take",
                 true, false};
  }
  return password;
}

}  // namespace

std::string_view Settings::keyword(std::string_view name) const {
  for (const auto& [each, value] : conninfo) {
    if (each == name) return value;
  }
  return {};
}

Result<Settings> settings_of(const PostgresOptions& given, std::optional<Duration> lease) {
  const auto taken = take_apart(given.url);
  if (!taken) return taken.error();
  Given parts = *taken;
  PostgresOptions options = given;
  for (const auto& [name, text] : parts.ours) {
    if (auto error = take(name, text, options)) return *std::move(error);
  }
  if (lease) options.lease = *lease;
  if (const auto inside = parts.libpq.extract("password"); !inside.empty()) {
    if (!options.password.empty()) {
      return invalid_argument("password: it is in the URL and in the options: leave one out");
    }
    options.password = inside.mapped();
  }
  for (auto error :
       {net::check_times(options.lease, options.request_timeout), check_rest(options)}) {
    if (error) return *std::move(error);
  }
  Words words;
  if (options.connection != nullptr) {
    if (auto error = unsuitable(options.connection.get())) return *std::move(error);
    words = words_of(options.connection.get());
  } else {
    auto found = effective(parts.libpq);
    if (!found) return found.error();
    if (auto error = check_choices(found->words)) return *std::move(error);
    words = with_defaults(*std::move(found), options.lease);
  }

  Settings settings;
  settings.conninfo.assign(words.begin(), words.end());
  settings.password = options.password;
  settings.password_file = options.password_file;
  settings.credentials = options.credentials;
  settings.mode = options.mode;
  settings.strict = options.strict;
  settings.create = options.create;
  settings.tables = options.tables;
  settings.schema = options.schema;
  settings.lease = options.lease;
  settings.request_timeout = net::effective_request_timeout(options.request_timeout, options.lease);
  settings.where = where_is(words);
  settings.is_near = is_near(words);
  return settings;
}

Result<PostgresCredentials> credentials_of(const Settings& settings) {
  if (settings.credentials) return net::given_by(settings.credentials, settings.where);
  if (settings.password_file.empty()) return PostgresCredentials{{}, settings.password};
  auto password = password_in_file(settings.password_file);
  if (!password) return password.error();
  return PostgresCredentials{{}, *std::move(password)};
}

std::string kind_of(const Settings& settings) {
  if (settings.mode == PostgresMode::lease) return "lease";
  return settings.strict ? "strict" : "advisory";
}

Duration longest_silence(const Settings& settings) {
  return std::max<Duration>(settings.lease, std::min<Duration>(settings.lease, 12min) * 10);
}

Duration connect_limit(const Settings& settings) {
  return std::max<Duration>(settings.request_timeout * 4, 1s);
}

}  // namespace conclave::postgres
