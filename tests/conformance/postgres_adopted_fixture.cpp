// The suite on PostgreSQL over connections that the application brings: nobody is woken.
#include "conformance/conformance.hpp"
#include "conformance/postgres_adopted_rig.hpp"

namespace conclave::conformance {
namespace {

std::unique_ptr<StoreFixture> make_advisory() {
  return std::make_unique<AdoptedFixture>(PostgresMode::advisory);
}
std::unique_ptr<StoreFixture> make_lease() {
  return std::make_unique<AdoptedFixture>(PostgresMode::lease);
}

CONCLAVE_CONFORMANCE(adopted_advisory, make_advisory);
CONCLAVE_CONFORMANCE(adopted_lease, make_lease);

}  // namespace
}  // namespace conclave::conformance
