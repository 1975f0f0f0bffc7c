#include "conformance/test_candidate.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <mutex>

namespace conclave::conformance {
namespace {

core::Settings settings(const Store& store, const std::string& id, TimingOptions timing) {
  timing.lease = store.lease();
  const Traits& traits = store.traits();
  return {id, *resolve_timing(timing, {traits.default_lease, traits.lease_floor, traits.lag})};
}

}  // namespace

class TestCandidate::Engine final : public std::enable_shared_from_this<Engine> {
 public:
  Engine(StoreFixture& fixture, History& history, std::shared_ptr<Store> store,
         std::string election, std::string id, CandidateOptions options)
      : id_(std::move(id)),
        fixture_(fixture),
        history_(history),
        store_(std::move(store)),
        election_(std::move(election)),
        options_(std::move(options)),
        machine_(settings(*store_, id_, options_.timing), {options_.seed, 1, 2, 3}) {}

  void post(core::Input input) {
    store_->executor().post([self = weak_from_this(), input = std::move(input)] {
      if (const auto engine = self.lock()) engine->step(input);
    });
  }

  void set_stalled(bool stalled) {
    const std::scoped_lock lock(mutex_);
    stalled_ = stalled;
    if (stalled) return;
    for (core::Input& input : missed_) post(std::move(input));
    missed_.clear();
    post(core::Tick{});
  }

  void die() {
    const std::scoped_lock lock(mutex_);
    if (term_) history_.over(election_, *term_, std::min(now(), machine_.status().deadline));
    dead_ = true;
  }

  template <typename Question>
  auto ask(Question question) const {
    const std::scoped_lock lock(mutex_);
    return question(*this);
  }

  [[nodiscard]] Instant now() const { return store_->clock().now(); }

  const std::string id_;
  StoreFixture& fixture_;
  History& history_;
  const std::shared_ptr<Store> store_;
  const std::string election_;
  const CandidateOptions options_;
  core::Machine machine_;
  // What it said, by kind: how often, and the last of each.
  std::array<std::size_t, std::variant_size_v<core::Output>> counts_{};
  std::array<std::optional<core::Output>, std::variant_size_v<core::Output>> last_;

 private:
  void step(const core::Input& input) {
    {
      const std::scoped_lock lock(mutex_);
      if (dead_) return;
      if (stalled_) {
        missed_.push_back(input);
        return;
      }
      for (const core::Output& output : machine_.step(now(), input)) {
        std::visit([this](const auto& each) { carry_out(each); }, output);
      }
      arm();
    }
    fixture_.changed();
  }

  // What arrives later from the store, as an input.
  template <typename Arrival>
  auto arrival(core::OpId op) {
    return [self = weak_from_this(), op](auto answer) {
      if (const auto engine = self.lock()) engine->step(Arrival{op, std::move(answer)});
    };
  }

  void carry_out(const core::DoCampaign& call) {
    calls_[call.op] = store_->campaign(
        {election_, id_, call.attempt, options_.metadata, call.highest_term_seen, call.seen},
        arrival<core::CampaignDone>(call.op));
  }
  void carry_out(const core::DoRenew& call) {
    calls_[call.op] =
        store_->renew({{election_, id_, call.term, call.attempt, call.valid}},
                      [done = arrival<core::RenewDone>(call.op)](std::size_t, RenewAnswer answer) {
                        done(std::move(answer));
                      });
  }
  void carry_out(const core::DoResign& call) {
    calls_[call.op] = store_->resign({election_, id_, call.attempt, call.term, call.was_valid},
                                     arrival<core::ResignDone>(call.op));
  }
  void carry_out(const core::DoObserve& call) {
    calls_[call.op] =
        store_->observe(election_, id_, [self = weak_from_this()](const Observation& what) {
          if (const auto engine = self.lock()) engine->step(core::Observed{what});
        });
  }
  void carry_out(const core::DoCancel& call) { store_->cancel(calls_[call.op]); }

  void carry_out(const core::Elected& news) {
    EXPECT_FALSE(term_) << id_ << " was elected twice";
    term_ = news.term;
    history_.elected(election_, id_, news.term, now());
    remember(news);
  }
  void carry_out(const core::Stopping& news) {
    if (options_.work_ends) post(core::WorkEnded{news.term});
    remember(news);
  }
  void carry_out(const core::Lost& news) {
    EXPECT_EQ(term_, news.term) << id_ << " lost what it did not have";
    term_.reset();
    history_.over(election_, news.term, news.at);
    remember(news);
  }
  template <typename News>
  void carry_out(const News& news) {
    remember(news);
  }

  void remember(const core::Output& news) {
    counts_[news.index()] += 1;
    last_[news.index()] = news;
  }

  void arm() {
    if (armed_ && *armed_ <= now()) armed_.reset();
    const auto wake = machine_.next_wakeup();
    if (!wake || (armed_ && *armed_ <= *wake)) return;
    armed_ = wake;
    store_->executor().post_at(*wake, [self = weak_from_this()] {
      if (const auto engine = self.lock()) engine->step(core::Tick{});
    });
  }

  mutable std::mutex mutex_;
  std::map<core::OpId, Operation> calls_;
  std::vector<core::Input> missed_;
  std::optional<Term> term_;
  std::optional<Instant> armed_;
  bool stalled_ = false;
  bool dead_ = false;
};

TestCandidate::TestCandidate(StoreFixture& fixture, History& history, std::shared_ptr<Store> store,
                             std::string election, std::string id, CandidateOptions options)
    : engine_(std::make_shared<Engine>(fixture, history, std::move(store), std::move(election),
                                       std::move(id), std::move(options))) {}

TestCandidate::~TestCandidate() { engine_->die(); }

void TestCandidate::give(core::Input input) { engine_->post(std::move(input)); }
void TestCandidate::stall() { engine_->set_stalled(true); }
void TestCandidate::go_on() { engine_->set_stalled(false); }

bool TestCandidate::leads() const {
  return engine_->ask([](const Engine& it) { return it.machine_.leads_at(it.now()); });
}
core::Status TestCandidate::status() const {
  return engine_->ask([](const Engine& it) { return it.machine_.status(); });
}
std::string TestCandidate::leader() const {
  return engine_->ask([](const Engine& it) { return std::string(it.machine_.status().leader); });
}
const std::string& TestCandidate::id() const { return engine_->id_; }
std::size_t TestCandidate::count(std::size_t kind) const {
  return engine_->ask([kind](const Engine& it) { return it.counts_[kind]; });
}
std::optional<core::Output> TestCandidate::last(std::size_t kind) const {
  return engine_->ask([kind](const Engine& it) { return it.last_[kind]; });
}

}  // namespace conclave::conformance
