#include "stores/postgres/adopted.hpp"

#include <libpq-fe.h>

#include <algorithm>

namespace conclave::postgres {

std::optional<Error> unsuitable(PGconn* connection) {
  if (PQstatus(connection) != CONNECTION_OK || PQsocket(connection) < 0) {
    return invalid_argument("connection: it is not established: connect it before it is given");
  }
  if (PQpipelineStatus(connection) != PQ_PIPELINE_OFF) {
    return invalid_argument("connection: it is in pipeline mode: leave that before it is given");
  }
  if (PQtransactionStatus(connection) == PQTRANS_ACTIVE) {
    return invalid_argument(
        "connection: a statement is under way on it: read its results before it is given");
  }
  if (PQtransactionStatus(connection) != PQTRANS_IDLE) {
    return invalid_argument(
        "connection: a transaction is open on it: commit or roll it back before it is given");
  }
  const char* const encoding = PQparameterStatus(connection, "client_encoding");
  if (encoding == nullptr || std::string_view(encoding) != "UTF8") {
    return invalid_argument(
        "connection: its client_encoding is not UTF8: call PQsetClientEncoding before it is given");
  }
  return std::nullopt;
}

Words words_of(PGconn* connection) {
  Words words;
  const auto add = [&](const char* name, const char* value) {
    if (value != nullptr && *value != '\0') words.emplace(name, value);
  };
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> all(PQconninfo(connection),
                                                                         &PQconninfoFree);
  for (const auto* each = all.get(); each != nullptr && each->keyword != nullptr; ++each) {
    if (std::string_view(each->keyword) == "sslmode") add("sslmode", each->val);
  }
  // Of several servers the one that was reached.
  add("host", PQhost(connection));
  add("hostaddr", PQhostaddr(connection));
  add("port", PQport(connection));
  add("dbname", PQdb(connection));
  add("user", PQuser(connection));
  return words;
}

Duration patience_with_adopted(const Settings& settings) {
  return std::max<Duration>(settings.lease, std::chrono::minutes{1});
}

Error for_good(Error why) {
  why.message +=
      "; it was the application's own connection, and there is no other: make a new store on a new "
      "one";
  why.retryable = false;
  return why;
}

}  // namespace conclave::postgres
