#include "apps/conclave/bench_postgres_client.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "apps/conclave/bench_raw_process.hpp"

namespace conclave::app {
namespace {

using Outcome = std::unique_ptr<PGresult, decltype(&PQclear)>;

// The store's own options, which libpq does not know.
constexpr std::array<std::string_view, 8> not_libpqs{
    "mode", "strict", "create", "tables", "schema", "lease", "request_timeout", "password_file"};

// Takes them out of the URL.
std::map<std::string, std::string> taken_from(std::string& url) {
  std::map<std::string, std::string> taken;
  const auto mark = url.find('?');
  if (mark == std::string::npos) return taken;
  std::string query = url.substr(mark + 1);
  url.erase(mark);
  char before = '?';
  while (!query.empty()) {
    const std::string each = query.substr(0, query.find('&'));
    query.erase(0, each.size() + 1);
    const std::string name = unescaped(each.substr(0, each.find('=')));
    if (std::find(not_libpqs.begin(), not_libpqs.end(), name) != not_libpqs.end()) {
      taken[name] = unescaped(each.substr(each.find('=') + 1));
    } else {
      (url += std::exchange(before, '&')) += each;
    }
  }
  return taken;
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

[[noreturn]] void fail(const PGconn* connection) {
  throw std::runtime_error("PostgreSQL: " + first_line(PQerrorMessage(connection)));
}

Outcome checked(PGconn* connection, PGresult* result) {
  Outcome outcome(result, &PQclear);
  const auto status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) fail(connection);
  return outcome;
}

}  // namespace

bool is_postgres(const std::string& url) {
  return url.starts_with("postgres:") || url.starts_with("postgresql:");
}

PostgresAddress postgres_address(const std::string& url) {
  std::string rest = url.substr(url.find(':') + 1);
  const auto ours = taken_from(rest);
  rest = "postgresql:" + std::string(rest.starts_with("//") ? "" : "//") + rest;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> all(
      PQconninfoParse(rest.c_str(), nullptr), &PQconninfoFree);
  if (all == nullptr) throw std::runtime_error("libpq cannot read the URL");
  PostgresAddress address;
  address.words = {{"application_name", "conclave bench"}, {"gssencmode", "disable"}};
  for (const auto* each = all.get(); each->keyword != nullptr; ++each) {
    if (each->val != nullptr) address.words[each->keyword] = each->val;
  }
  if (address.words["host"].find(',') != std::string::npos) {
    address.words.emplace("target_session_attrs", "read-write");
  }
  if (const auto file = ours.find("password_file"); file != ours.end()) {
    std::ifstream stream(file->second);
    std::getline(stream, address.words["password"]);
  }
  if (const auto schema = ours.find("schema"); schema != ours.end()) {
    address.schema = "\"";
    for (const char each : schema->second) address.schema.append(each == '"' ? 2 : 1, each);
    address.schema += "\".";
  }
  return address;
}

void PostgresClient::Close::operator()(pg_conn* connection) const { PQfinish(connection); }

PostgresClient::PostgresClient(const PostgresAddress& address) {
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : address.words) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  connection_.reset(PQconnectdbParams(names.data(), values.data(), 0));
  if (PQstatus(connection_.get()) != CONNECTION_OK) fail(connection_.get());
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
}

void PostgresClient::prepare(const std::string& name, const std::string& sql) {
  PGconn* const to = connection_.get();
  checked(to, PQprepare(to, name.c_str(), sql.c_str(), 0, nullptr));
}

int PostgresClient::execute(const std::string& name) {
  PGconn* const to = connection_.get();
  const Outcome outcome =
      checked(to, PQexecPrepared(to, name.c_str(), 0, nullptr, nullptr, nullptr, 0));
  return std::atoi(PQcmdTuples(outcome.get()));
}

std::vector<std::string> PostgresClient::ask(const std::string& sql) {
  PGconn* const to = connection_.get();
  const Outcome outcome = checked(to, PQexec(to, sql.c_str()));
  std::vector<std::string> row;
  for (int i = 0; PQntuples(outcome.get()) > 0 && i < PQnfields(outcome.get()); ++i) {
    row.emplace_back(PQgetvalue(outcome.get(), 0, i));
  }
  return row;
}

bool PostgresClient::is_pooled() {
  return ask("select pg_backend_pid()").at(0) != std::to_string(PQbackendPID(connection_.get()));
}

}  // namespace conclave::app
