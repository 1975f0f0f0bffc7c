// The suite on memory, in manual time: as it is, and behind a faulty store without faults.
#include <conclave/memory.hpp>
#include <conclave/testing/manual_executor.hpp>

#include "conformance/conformance.hpp"

namespace conclave::conformance {
namespace {

class MemoryFixture : public StoreFixture {
 public:
  std::shared_ptr<Store> make_store(Duration lease) override {
    return make_memory_store(space_, {.lease = lease, .clock = clock_, .executor = executor_});
  }
  Duration lease() const override { return std::chrono::seconds{3}; }
  Instant now() const override { return clock_.now(); }
  bool has(Ability) const override { return true; }
  bool run_until(const std::function<bool()>& done) override {
    return executor_.run_until(done, 100 * lease());
  }
  void run_for(Duration duration) override { executor_.run_for(duration); }
  void wipe() override { conclave::wipe(*space_); }
  int rounds(int without_server) const override { return without_server; }

 private:
  testing::ManualClock clock_;
  testing::ManualExecutor executor_{clock_};
  std::shared_ptr<MemorySpace> space_ = make_memory_space();
};

class WrappedMemoryFixture final : public MemoryFixture {
 public:
  std::shared_ptr<Store> make_store(Duration lease) override {
    return std::make_shared<FaultyStore>(MemoryFixture::make_store(lease));
  }
};

template <typename Fixture>
std::unique_ptr<StoreFixture> make() {
  return std::make_unique<Fixture>();
}

CONCLAVE_CONFORMANCE(memory, make<MemoryFixture>);
CONCLAVE_CONFORMANCE(wrapped_memory, make<WrappedMemoryFixture>);

}  // namespace
}  // namespace conclave::conformance
