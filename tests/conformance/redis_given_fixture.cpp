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

class RedisGivenQueue : public Conformance {};

// It looks four times in a lease, and may be late: the others let it go first for half of one.
TEST_P(RedisGivenQueue, T13_TheFirstInLineIsWaitedForSinceNobodyCanWakeIt) {
  const Duration length = 4 * lease();
  const auto store = fixture().make_store(length);
  const Term term = granted(*store, bid("a", 1)).term;
  EXPECT_EQ(held(*store, bid("b", 2)).place, 1U);
  EXPECT_LE(held(*store, bid("b", 2)).look_again_in, length / 4);
  EXPECT_EQ(held(*store, bid("c", 3)).place, 2U);
  resign(*store, resignation(bid("a", 1), term, true));
  const Held passed_by = held(*store, bid("c", 3));
  EXPECT_FALSE(passed_by.record);
  EXPECT_GT(passed_by.look_again_in, length / 4);
  EXPECT_LE(passed_by.look_again_in, length / 2 + std::chrono::milliseconds{20});
  EXPECT_EQ(granted(*store, bid("b", 2)).vacancy, Vacancy::released);
}

INSTANTIATE_TEST_SUITE_P(redis, RedisGivenQueue, ::testing::Values(MakeFixture{make}),
                         [](const auto&) { return "redis"; });

}  // namespace
}  // namespace conclave::conformance
