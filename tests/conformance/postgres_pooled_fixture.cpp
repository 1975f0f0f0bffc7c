// The suite on PostgreSQL through a PgBouncer in transaction mode, which only mode lease allows:
// nothing is prepared there, nobody listens, and every statement may run on another session.
#include "conformance/conformance.hpp"
#include "conformance/postgres_rig.hpp"
#include "servers/pgbouncer_server.hpp"

namespace conclave::conformance {
namespace {

servers::PgBouncerServer& shared_pooler() {
  static servers::PgBouncerServer pooler(shared_postgres(), servers::PgBouncerMode::transaction);
  return pooler;
}

class PooledFixture : public PostgresFixture {
 public:
  PooledFixture() : PostgresFixture(PostgresMode::lease) {}

  std::shared_ptr<Store> make_store(Duration lease) override {
    PostgresOptions pooled = options(lease);
    pooled.url = shared_pooler().url();
    return connected(make_postgres_store(std::move(pooled)));
  }
  [[nodiscard]] bool has(Ability ability) const override {
    return ability != Ability::pushes && PostgresFixture::has(ability);
  }
};

std::unique_ptr<StoreFixture> make_pooled() { return std::make_unique<PooledFixture>(); }

CONCLAVE_CONFORMANCE(postgres_pooled, make_pooled);

}  // namespace
}  // namespace conclave::conformance
