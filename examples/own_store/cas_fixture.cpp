// The conformance suite on the store of this folder, in manual time. This is all that it needs.
#include <conclave/testing/manual_executor.hpp>

#include "cas_store.hpp"
#include "conformance/conformance.hpp"

namespace conclave::conformance {
namespace {

class CasFixture final : public StoreFixture {
 public:
  std::shared_ptr<Store> make_store(Duration lease) override {
    return own_store::make_cas_store(
        service_, {.lease = lease, .clock = clock_, .executor = executor_, .requests = executor_});
  }
  Duration lease() const override { return std::chrono::seconds{3}; }
  Instant now() const override { return clock_.now(); }
  bool has(Ability ability) const override {
    return ability != Ability::queues && ability != Ability::pushes;
  }
  bool run_until(const std::function<bool()>& done) override {
    return executor_->run_until(done, 100 * lease());
  }
  void run_for(Duration duration) override { executor_->run_for(duration); }
  void wipe() override { service_->wipe(); }
  int rounds(int without_server) const override { return without_server; }

 private:
  testing::ManualClock clock_;
  std::shared_ptr<testing::ManualExecutor> executor_ =
      std::make_shared<testing::ManualExecutor>(clock_);
  std::shared_ptr<own_store::MemoryCas> service_ = std::make_shared<own_store::MemoryCas>();
};

std::unique_ptr<StoreFixture> make() { return std::make_unique<CasFixture>(); }

CONCLAVE_CONFORMANCE(cas, make);

}  // namespace
}  // namespace conclave::conformance
