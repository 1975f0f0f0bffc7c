// The suite on PostgreSQL, in real time: one server, whose tables are dropped for each test.
#include "conformance/conformance.hpp"
#include "conformance/postgres_rig.hpp"

namespace conclave::conformance {
namespace {

std::unique_ptr<StoreFixture> make_advisory() {
  return std::make_unique<PostgresFixture>(PostgresMode::advisory);
}
std::unique_ptr<StoreFixture> make_lease() {
  return std::make_unique<PostgresFixture>(PostgresMode::lease);
}
std::unique_ptr<StoreFixture> make_strict() {
  return std::make_unique<PostgresFixture>(PostgresMode::advisory, true);
}

CONCLAVE_CONFORMANCE(postgres_advisory, make_advisory);
CONCLAVE_CONFORMANCE(postgres_lease, make_lease);
CONCLAVE_CONFORMANCE(postgres_strict, make_strict);

}  // namespace
}  // namespace conclave::conformance
