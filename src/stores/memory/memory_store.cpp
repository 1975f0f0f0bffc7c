#include <conclave/memory.hpp>

#include <cassert>
#include <map>
#include <stdexcept>

#include <conclave/names.hpp>

#include "stores/memory/space.hpp"

namespace conclave {
namespace {

using memory::Election;
using memory::Moment;
using memory::News;
using memory::Subscription;

constexpr Traits memory_traits{.judge = LeaseJudge::server,
                               .terms = TermStrength::survives_data,
                               .pushes = true,
                               .queues = true};

// Every verb is carried out within its call, under the lock of the space; only the answer takes
// the way over the executor. It is posted under the lock too, before the news of the same change,
// so that everybody hears of changes in the order in which they happened.
class MemoryStore final : public Store {
 public:
  MemoryStore(std::shared_ptr<MemorySpace> space, MemoryOptions options)
      : space_(std::move(space)), options_(options) {}

  ~MemoryStore() override {
    const auto lock = space_->lock();
    *over_ = true;
    for (const auto& [operation, subscription] : subscriptions_) space_->unsubscribe(subscription);
  }

  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  const Traits& traits() const noexcept override { return memory_traits; }
  Duration lease() const noexcept override { return options_.lease; }
  const Clock& clock() const noexcept override { return options_.clock; }
  Executor& executor() noexcept override { return options_.executor; }

  Operation campaign(Bid bid, std::function<void(CampaignAnswer)> done) override {
    auto error = check_election_name(bid.election);
    if (!error) error = check_candidate_id(bid.candidate);
    if (!error) error = check_metadata(bid.metadata);
    if (error) return refuse(std::move(done), *std::move(error));
    return carry_out(bid.election, std::move(done),
                     [&](Election& election, Moment moment, News& news) -> CampaignAnswer {
                       auto answer = election.campaign(bid, options_.lease, moment, news);
                       if (std::holds_alternative<Held>(answer)) remind(bid, election, moment.now);
                       return answer;
                     });
  }

  Operation renew(std::vector<Renewal> due,
                  std::function<void(std::size_t, RenewAnswer)> done) override {
    for (std::size_t i = 0; i < due.size(); ++i) {
      carry_out(
          due[i].election, [done, i](RenewAnswer answer) { done(i, std::move(answer)); },
          [&](Election& election, Moment moment, News& news) {
            return election.renew(due[i], moment, news);
          });
    }
    return next_operation();
  }

  Operation resign(Resignation resignation, std::function<void(Answer)> done) override {
    return carry_out(resignation.election, std::move(done),
                     [&](Election& election, Moment moment, News& news) {
                       return election.resign(resignation, moment, news);
                     });
  }

  Operation observe(std::string election, std::string candidate, Sink sink) override {
    const auto lock = space_->lock();
    const auto what = space_->at(election).present(now());
    auto subscription = std::make_shared<Subscription>(std::move(election), std::move(candidate),
                                                       std::move(sink), executor());
    space_->subscribe(subscription);
    Subscription::tell(subscription, std::make_shared<const Observation>(what));
    const Operation operation = next_operation();
    subscriptions_.emplace(operation, std::move(subscription));
    return operation;
  }

  Operation inspect(std::string election, std::function<void(InspectAnswer)> done) override {
    if (auto error = check_election_name(election)) return refuse(std::move(done), *error);
    return carry_out(election, std::move(done),
                     [](Election& place, Moment moment, News&) -> InspectAnswer {
                       return place.inspect(moment.now);
                     });
  }

  Operation end(std::string election, std::function<void(Answer)> done) override {
    if (auto error = check_election_name(election)) return refuse(std::move(done), *error);
    return carry_out(election, std::move(done),
                     [](Election& place, Moment, News& news) { return place.end(news); });
  }

  Operation remove(std::string election, std::function<void(Answer)> done) override {
    if (auto error = check_election_name(election)) return refuse(std::move(done), *error);
    return carry_out(election, std::move(done),
                     [](Election& place, Moment moment, News&) { return place.remove(moment); });
  }

  Operation check(std::function<void(CheckAnswer)> done) override {
    reply(std::move(done),
          CheckAnswer{std::vector{
              Finding{Severity::note, "memory:",
                      "elections in memory are not shared between processes and end with this one",
                      "use another store, such as file:, when more than one process takes part"}}});
    return next_operation();
  }

  // A call has happened before anybody could give it up: its true answer is on its way.
  void cancel(Operation operation) override {
    // Outlives the lock: what the sink holds may call us when it is destroyed.
    const auto found = subscriptions_.extract(operation);
    if (found.empty()) return;
    const auto lock = space_->lock();
    space_->unsubscribe(found.mapped());
  }

 private:
  [[nodiscard]] Instant now() const noexcept { return options_.clock.get().now(); }
  Operation next_operation() noexcept { return ++last_operation_; }

  template <typename Done, typename Act>
  Operation carry_out(const std::string& election, Done done, Act act) {
    // `since` is never later than what others read under the lock after us.
    const Instant sent = now();
    const auto lock = space_->lock();
    News news;
    reply(std::move(done), act(space_->at(election), space_->moment(sent), news));
    space_->publish(election, std::move(news));
    return next_operation();
  }

  template <typename Done>
  Operation refuse(Done done, Error error) {
    reply(std::move(done), Refused{std::move(error)});
    return next_operation();
  }

  template <typename Done, typename Answered>
  void reply(Done done, Answered answer) {
    executor().post([over = over_, done = std::move(done), answer = std::move(answer)]() mutable {
      if (!*over) done(std::move(answer));
    });
  }

  // Whoever is held back in favour of others is told when its own time has come: perhaps none of
  // them is alive. The store is only used while it lives, on its executor.
  void remind(const Bid& bid, const Election& election, Instant now) {
    const auto wait = election.held_back(bid, now);
    if (!wait) return;
    executor().post_at(now + *wait, [this, over = over_, bid] {
      if (!*over) turn_has_come(bid);
    });
  }

  void turn_has_come(const Bid& bid) {
    const auto lock = space_->lock();
    const auto wait = space_->at(bid.election).held_back(bid, now());
    if (wait == Duration::zero()) space_->publish(bid.election, {std::nullopt, bid.candidate});
  }

  std::shared_ptr<MemorySpace> space_;
  MemoryOptions options_;
  std::shared_ptr<std::atomic<bool>> over_ = std::make_shared<std::atomic<bool>>(false);
  std::map<Operation, std::shared_ptr<Subscription>> subscriptions_;
  Operation last_operation_ = 0;
};

}  // namespace

std::shared_ptr<Store> make_memory_store(std::shared_ptr<MemorySpace> space,
                                         MemoryOptions options) {
  assert(space != nullptr);
  TimingOptions timing;
  timing.lease = options.lease;
  if (const auto refused = resolve_timing(timing); !refused) {
    throw std::invalid_argument(refused.error().message);
  }
  return std::make_shared<MemoryStore>(std::move(space), options);
}

}  // namespace conclave
