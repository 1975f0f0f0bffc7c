// The suite on a Redis client that the application brings: nobody is woken, candidates look.
#include "conformance/conformance.hpp"
#include "conformance/redis_client_rig.hpp"
#include "conformance/redis_rig.hpp"

namespace conclave::conformance {
namespace {

class GivenFixture final : public RedisFixture {
 public:
  std::shared_ptr<Store> make_store(Duration lease) override {
    return make_redis_store(client_of(shared_redis()), {.lease = lease, .loop = loop()});
  }
  [[nodiscard]] bool has(Ability ability) const override {
    return ability != Ability::pushes && RedisFixture::has(ability);
  }
};

std::unique_ptr<StoreFixture> make() { return std::make_unique<GivenFixture>(); }

CONCLAVE_CONFORMANCE(redis_client, make);

}  // namespace
}  // namespace conclave::conformance
