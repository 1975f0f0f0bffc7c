// What a user's first test may look like: a lost reply does not lose the term.
#include <cstdio>

#include <conclave/memory.hpp>
#include <conclave/testing/faulty_store.hpp>
#include <conclave/testing/manual_executor.hpp>

using namespace conclave;
using namespace std::chrono_literals;

int main() {
  testing::ManualClock clock;
  testing::ManualExecutor executor(clock);
  testing::FaultyStore store(
      make_memory_store(make_memory_space(), {.lease = 3s, .clock = clock, .executor = executor}));

  const Bid bid{.election = "reports", .candidate = "me", .attempt = {1, 2}};
  Term term;
  const auto remember = [&](const CampaignAnswer& answer) {
    if (const auto* granted = std::get_if<Granted>(&answer)) term = granted->term;
  };
  store.next(testing::Verb::campaign, testing::Fault::lose_reply());
  const Operation lost = store.campaign(bid, remember);
  executor.run_for(1s);
  store.cancel(lost);
  store.campaign(bid, remember);
  executor.run_ready();

  const Result<Timing> timing =
      resolve_timing(TimingOptions{.lease = 3s}, timing_limits(store.traits()));
  std::printf("term %llu\n", static_cast<unsigned long long>(term.value));
  return term.exists() && timing ? 0 : 1;
}
