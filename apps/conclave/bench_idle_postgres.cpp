// What a PostgreSQL server counts of itself.
#include <stdexcept>

#include "apps/conclave/bench.hpp"
#include "apps/conclave/bench_postgres_client.hpp"

namespace conclave::app {
namespace {

// Of the whole database. A session tells what it has done once a second.
class PostgresMeter final : public Meter {
 public:
  explicit PostgresMeter(const PostgresAddress& address) : client_(address) {}

  Counts counted() override {
    const auto row = client_.ask(
        "select xact_commit + xact_rollback, pg_current_wal_lsn() - '0/0'::pg_lsn "
        "from pg_stat_database where datname = current_database()");
    return {{"transactions", std::stod(row.at(0)) - asked_++}, {"wal_bytes", std::stod(row.at(1))}};
  }

  std::vector<std::pair<std::string, double>> told(const Counts& more) override {
    return {{"transactions_per_lease", more.at("transactions")},
            {"wal_bytes_per_lease", more.at("wal_bytes")}};
  }

  // Behind a pooler it is that which shares them out.
  std::optional<int> room() override {
    if (client_.is_pooled()) return std::nullopt;
    const auto row = client_.ask(
        "select least(current_setting('max_connections')::int "
        "- current_setting('superuser_reserved_connections')::int "
        "- (select count(*) from pg_stat_activity where datid is not null), "
        "(select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user) "
        "- (select count(*) from pg_stat_activity where usename = current_user))");
    return std::stoi(row.at(0));
  }

 private:
  PostgresClient client_;
  double asked_ = 0;
};

}  // namespace

std::unique_ptr<Meter> make_postgres_meter(const StoreArguments& store) {
  return std::make_unique<PostgresMeter>(postgres_address(store.url));
}

}  // namespace conclave::app
