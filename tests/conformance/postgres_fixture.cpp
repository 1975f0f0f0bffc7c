// The suite on PostgreSQL, in real time: one server, whose tables are dropped for each test.
#include "conformance/conformance.hpp"
#include "conformance/postgres_rig.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;

// What is asked only once has to be answered, also where the processors are busy: it is given more
// time, and a connection before.
class PatientFixture : public PostgresFixture {
 public:
  explicit PatientFixture(PostgresMode mode, bool strict = false)
      : PostgresFixture(mode, strict, shared_postgres(), 1s) {}

  std::shared_ptr<Store> make_store(Duration lease) override {
    PostgresOptions patient = options(lease);
    patient.request_timeout = lease / 3;
    return connected(make_postgres_store(std::move(patient)));
  }
};

std::unique_ptr<StoreFixture> make_advisory() {
  return std::make_unique<PatientFixture>(PostgresMode::advisory);
}
std::unique_ptr<StoreFixture> make_lease() {
  return std::make_unique<PatientFixture>(PostgresMode::lease);
}
std::unique_ptr<StoreFixture> make_strict() {
  return std::make_unique<PatientFixture>(PostgresMode::advisory, true);
}

CONCLAVE_CONFORMANCE(postgres_advisory, make_advisory);
CONCLAVE_CONFORMANCE(postgres_lease, make_lease);
CONCLAVE_CONFORMANCE(postgres_strict, make_strict);

}  // namespace
}  // namespace conclave::conformance
