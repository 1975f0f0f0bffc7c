// How long a server has decided, as a grant tells it: never longer than it has.
#include "conformance/conformance.hpp"
#include "conformance/postgres_own_rig.hpp"
#include "fault/tcp_gate.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<StoreFixture> make_rig() {
  return std::make_unique<OldServerFixture>(PostgresMode::advisory);
}

class PostgresAge : public Conformance {
 protected:
  [[nodiscard]] PostgresFixture& rig() { return static_cast<PostgresFixture&>(fixture()); }
  [[nodiscard]] servers::PostgresServer& server() { return rig().server(); }
};

// The greeting is on its way for long, and the server says its age when it gets it.
TEST_P(PostgresAge, IsThatOfTheLastStartOnASlowLineToo) {
  fault::TcpGate gate(server().port());
  PostgresOptions options = rig().options(30s);
  options.url = "postgres://conclave@127.0.0.1:" + std::to_string(gate.port()) + "/postgres";
  for (const auto delay : {0ms, 500ms}) {
    server().restart();
    const Instant asked = now();
    const std::chrono::microseconds age(
        std::stoll(server().value("select (extract(epoch from clock_timestamp() - "
                                  "pg_postmaster_start_time()) * 1000000)::bigint")));
    gate.delay(fault::Direction::to_target, delay);
    const Granted grant = granted(*make_postgres_store(options), bid("a", 1));
    EXPECT_LE(grant.server_age, age + (now() - asked));
  }
}

INSTANTIATE_TEST_SUITE_P(postgres, PostgresAge, ::testing::Values(MakeFixture{make_rig}),
                         [](const auto&) { return "advisory"; });

}  // namespace
}  // namespace conclave::conformance
