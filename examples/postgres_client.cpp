// On PostgreSQL connections that the program makes itself: one is given to the store, and on
// another one the leader works, in transactions that nobody commits who does not lead any more.
#include <libpq-fe.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <stop_token>

#include <conclave/conclave.hpp>
#include <conclave/postgres.hpp>

namespace {

std::shared_ptr<PGconn> connect(const char* to) {
  std::shared_ptr<PGconn> connection(PQconnectdb(to), PQfinish);
  if (PQstatus(connection.get()) != CONNECTION_OK) {
    throw std::runtime_error(PQerrorMessage(connection.get()));
  }
  return connection;
}

void execute(PGconn* database, const std::string& sql) {
  const std::unique_ptr<PGresult, decltype(&PQclear)> done(PQexec(database, sql.c_str()), PQclear);
  if (PQresultStatus(done.get()) != PGRES_COMMAND_OK) {
    throw std::runtime_error(PQerrorMessage(database));
  }
}

// Either all of it happens while the term holds, or nothing.
void write_report(PGconn* database, conclave::Term term) {
  execute(database, "begin");
  execute(database, conclave::postgres_fence("reports", term));
  execute(database, "insert into reports values ('done')");
  execute(database, "commit");
}

}  // namespace

int main(int argc, char** argv) try {
  const char* const to = argc > 1 ? argv[1] : "";  // libpq's environment
  const auto database = connect(to);
  execute(database.get(), "create temporary table reports (report text)");

  auto store = conclave::make_postgres_store({.connection = connect(to)});
  // A server that is away is waited for. What it refuses, somebody has to mend first: it would be
  // tried again for ever.
  std::stop_source refused;
  conclave::Options options;
  options.log = [&refused](const conclave::LogRecord& record) {
    if (refused.stop_requested()) return;  // it may be tried once more until that is heeded
    std::clog << record.message << '\n';
    if (record.level == conclave::LogLevel::error) refused.request_stop();
  };
  conclave::Candidate me(store, "reports", options);
  auto term = me.lead(refused.get_token());
  if (!term) return 1;
  write_report(database.get(), term->term());
  std::printf("written by the leader\n");

  const conclave::Term old = term->term();
  term.reset();  // others have their turn
  term = me.lead();
  try {
    write_report(database.get(), old);
  } catch (const std::exception&) {
    std::printf("refused: that term is over\n");
  }
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
