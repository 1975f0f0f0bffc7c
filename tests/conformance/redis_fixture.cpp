// The suite on Redis, in real time: one server, which is wiped for each test.
#include "conformance/conformance.hpp"
#include "conformance/redis_rig.hpp"

namespace conclave::conformance {
namespace {

std::unique_ptr<StoreFixture> make() { return std::make_unique<RedisFixture>(); }

CONCLAVE_CONFORMANCE(redis, make);

}  // namespace
}  // namespace conclave::conformance
