// What a user's first program and first test may look like. Says what failed, and exits with 1.
#include <cstdio>
#include <future>
#include <stdexcept>

#include <conclave/conclave.hpp>
#include <conclave/memory.hpp>
#include <conclave/testing/faulty_store.hpp>
#include <conclave/testing/manual_executor.hpp>
#include <conclave/version.hpp>

using namespace conclave;
using namespace std::chrono_literals;

namespace {

// A lost reply does not lose the term.
bool a_lost_reply_is_recognised() {
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
  return term.exists() && timing;
}

// A store that runs on a thread of its own.
bool an_opened_store_answers() {
  const std::shared_ptr<Store> store = open("memory:");
  std::promise<bool> granted;
  store->executor().post([&] {
    store->campaign({.election = "reports", .candidate = "me", .attempt = {1, 2}},
                    [&](const CampaignAnswer& answer) {
                      granted.set_value(std::holds_alternative<Granted>(answer));
                    });
  });
  std::future<bool> answer = granted.get_future();
  return answer.wait_for(30s) == std::future_status::ready && answer.get();
}

// The whole program.
bool a_candidate_leads() {
  Candidate me(open("memory:"), "reports");
  const std::optional<Leadership> term = me.lead();
  return term && term->valid() && me.is_leader() && term->term().exists();
}

// Exceptions are caught on the other side of a library's wall.
bool misuse_is_told() {
  Candidate me(open("memory:"), "reports");
  me.start();
  try {
    me.start();
  } catch (const InvalidState&) {
    return me.stop();
  }
  return false;
}

bool a_wrong_url_is_told() {
  try {
    static_cast<void>(open("pigeon:loft"));
  } catch (const std::invalid_argument& error) {
    return std::string_view(error.what()).find("pigeon") != std::string_view::npos;
  }
  return false;
}

// The type of an object is the same on both sides of a library's wall.
bool types_are_known() {
  testing::ManualClock clock;
  testing::ManualExecutor executor(clock);
  const std::shared_ptr<Store> store = std::make_shared<testing::FaultyStore>(
      make_memory_store(make_memory_space(), {.lease = 3s, .clock = clock, .executor = executor}));
  return dynamic_cast<testing::FaultyStore*>(store.get()) != nullptr;
}

bool expect(bool holds, const char* what) {
  if (!holds) std::printf("failed: %s\n", what);
  return holds;
}

}  // namespace

int main() {
  static_assert(CONCLAVE_VERSION_MAJOR == 0 && CONCLAVE_VERSION_MINOR >= 1);
  bool good = expect(a_lost_reply_is_recognised(), "a lost reply is recognised");
  good &= expect(an_opened_store_answers(), "an opened store answers");
  good &= expect(a_candidate_leads(), "a candidate leads");
  good &= expect(misuse_is_told(), "misuse is told");
  good &= expect(a_wrong_url_is_told(), "a wrong URL is told");
  good &= expect(types_are_known(), "types are known");
  if (good) std::printf("conclave %s works\n", library_version.data());
  return good ? 0 : 1;
}
