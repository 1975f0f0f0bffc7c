#include <conclave/memory.hpp>

#include <algorithm>
#include <cassert>
#include <span>
#include <stdexcept>

#include <conclave/names.hpp>

#include "stores/memory/space.hpp"

namespace conclave {
namespace {

using memory::Election;
using memory::Mail;
using memory::Moment;
using memory::News;
using memory::Place;
using memory::Subscription;

constexpr Traits memory_traits{.judge = LeaseJudge::server,
                               .terms = TermStrength::survives_data,
                               .pushes = true,
                               .queues = true};

// Renewals are carried out this many at a time: it spares locks and tasks, and others in the space
// need not wait for a hundred thousand of them.
constexpr std::size_t renewals_at_a_time = 256;

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
    subscriptions_.for_each(silence);
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
    for (std::size_t first = 0; first < due.size(); first += renewals_at_a_time) {
      const std::size_t count = std::min(renewals_at_a_time, due.size() - first);
      renew_some(std::span{due}.subspan(first, count), first, done);
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
    auto subscription = Subscription::make(std::move(candidate), executor(), std::move(sink));
    const auto lock = space_->lock();
    Place& place = space_->at(election);
    place.observers.push_back(*subscription);
    Mail mail;
    mail.add(*subscription, std::make_shared<const Observation>(place.election.present(now())));
    mail.post();
    const Operation operation = next_operation();
    subscriptions_.add(operation, std::move(subscription));
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

  Operation remove(std::string election, Remains remains,
                   std::function<void(Answer)> done) override {
    if (auto error = check_election_name(election)) return refuse(std::move(done), *error);
    return carry_out(election, std::move(done), [remains](Election& place, Moment moment, News&) {
      return place.remove(remains, moment);
    });
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
    const auto subscription = subscriptions_.take(operation);
    if (!subscription) return;
    const auto lock = space_->lock();
    silence(*subscription);
  }

 private:
  [[nodiscard]] Instant now() const noexcept { return options_.clock.get().now(); }
  Operation next_operation() noexcept { return ++last_operation_; }

  // Under the lock.
  static void silence(Subscription& subscription) {
    subscription.over = true;
    subscription.unlink();
  }

  template <typename Done, typename Act>
  Operation carry_out(const std::string& election, Done done, Act act) {
    // `since` is never later than what others read under the lock after us.
    const Instant sent = now();
    const auto lock = space_->lock();
    Place& place = space_->at(election);
    News news;
    reply(std::move(done), act(place.election, space_->moment(sent), news));
    publish(place, news, sent);
    return next_operation();
  }

  static void publish(Place& place, const News& news, Instant now) {
    Mail mail;
    place.publish(news, now, mail);
    mail.post();
  }

  void renew_some(std::span<const Renewal> due, std::size_t first,
                  const std::function<void(std::size_t, RenewAnswer)>& done) {
    const Instant sent = now();
    const auto lock = space_->lock();
    std::vector<std::optional<LossReason>> lost;
    lost.reserve(due.size());
    Mail mail;
    for (const Renewal& each : due) {
      Place& place = space_->at(each.election);
      News news;
      lost.push_back(place.election.renew(each, space_->moment(sent), news));
      place.publish(news, sent, mail);
    }
    executor().post([over = over_, done, first, sent, lost = std::move(lost)] {
      for (std::size_t i = 0; i < lost.size() && !*over; ++i) {
        done(first + i, lost[i] ? RenewAnswer{TermLost{*lost[i]}} : RenewAnswer{Renewed{sent}});
      }
    });
    mail.post();
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
    Place& place = space_->at(bid.election);
    const Instant present = now();
    if (place.election.held_back(bid, present) == Duration::zero()) {
      publish(place, {.changed = false, .turn_of = bid.candidate}, present);
    }
  }

  std::shared_ptr<MemorySpace> space_;
  MemoryOptions options_;
  std::shared_ptr<std::atomic<bool>> over_ = std::make_shared<std::atomic<bool>>(false);
  memory::Subscriptions subscriptions_;
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
