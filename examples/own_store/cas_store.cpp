#include "cas_store.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "cas_place.hpp"

namespace own_store {

using namespace conclave;

namespace {

constexpr Traits cas_traits{.judge = LeaseJudge::candidates,
                            .terms = TermStrength::survives_data,
                            .pushes = false,
                            .queues = false};

Error given_up() {
  return {ErrorCode::cancelled, "the call was given up before its answer came", true, true};
}

// Exactly once: the first answer takes `done` away from the others.
template <typename Answered>
void answer(std::function<void(Answered)>& done, Answered with) {
  if (const auto first = std::exchange(done, nullptr)) first(std::move(with));
}

using Look = std::variant<CasElection, Unknown, Refused>;

struct Watch {
  std::string election;
  Sink sink;
  std::optional<CasElection> told;
  Term highest{};
};

// Every member is used on the executor only. The service is called elsewhere, by tasks that know
// nothing of the store.
class CasStore final : public Store {
 public:
  CasStore(std::shared_ptr<CasService> service, CasOptions options)
      : service_(std::move(service)), options_(std::move(options)) {}

  const Traits& traits() const noexcept override { return cas_traits; }
  Duration lease() const noexcept override { return options_.lease; }
  const Clock& clock() const noexcept override { return options_.clock; }
  Executor& executor() noexcept override { return *options_.executor; }

  Operation campaign(Bid bid, std::function<void(CampaignAnswer)> done) override {
    return ask(bid.election, std::move(done),
               [bid, own = lease()](CasElection& election, Instant since) {
                 return election.campaign(bid, own, since);
               });
  }

  Operation resign(Resignation resignation, std::function<void(Answer)> done) override {
    return ask(
        resignation.election, std::move(done),
        [resignation](CasElection& election, Instant) { return election.resign(resignation); });
  }

  Operation inspect(std::string election, std::function<void(InspectAnswer)> done) override {
    return ask(election, std::move(done),
               [](const CasElection& found, Instant) -> InspectAnswer { return found.inspect(); });
  }

  Operation end(std::string election, std::function<void(Answer)> done) override {
    return ask(election, std::move(done), [](CasElection& found, Instant) { return found.end(); });
  }

  Operation remove(std::string election, Remains remains,
                   std::function<void(Answer)> done) override {
    return ask(election, std::move(done),
               [remains](CasElection& found, Instant) { return found.remove(remains); });
  }

  // One request each: this service has none for many. All are answered when the last one is.
  Operation renew(std::vector<Renewal> due,
                  std::function<void(std::size_t, RenewAnswer)> done) override {
    using Answers = std::vector<RenewAnswer>;
    std::vector<Place> places;
    for (const Renewal& each : due) places.push_back(place(each.election));
    Answers unknown(due.size(), Unknown{given_up()});
    return begin<Answers>(
        std::move(unknown),
        [done = std::move(done), alive = std::weak_ptr(alive_)](const Answers& answers) {
          for (std::size_t i = 0; i < answers.size() && !alive.expired(); ++i) done(i, answers[i]);
        },
        [due = std::move(due), places = std::move(places)] {
          Answers answers;
          for (std::size_t i = 0; i < due.size(); ++i) {
            answers.push_back(apply<RenewAnswer>(places[i], [&](CasElection& found, Instant since) {
              return found.renew(due[i], since);
            }));
          }
          return answers;
        });
  }

  Operation observe(std::string election, std::string /*candidate*/, Sink sink) override {
    const Operation operation = ++last_operation_;
    auto watch = std::make_shared<Watch>();
    watch->election = std::move(election);
    watch->sink = std::move(sink);
    watches_.emplace(operation, std::move(watch));
    look(operation);
    return operation;
  }

  Operation check(std::function<void(CheckAnswer)> done) override {
    std::vector<Finding> findings{
        {Severity::note, "pushes", "a hand-over is noticed by looking, four times in a lease",
         "shorten the lease, or let observe() use what the service pushes"},
        {Severity::note, "queues",
         "the place goes to whoever comes first, not to who waits longest",
         "use a store that queues where the order matters"},
        {Severity::warning, "terms",
         "when the service loses its data, terms begin anew for candidates that have seen none",
         "let the service confirm a write only when it will outlive a crash"}};
    const Operation operation = ++last_operation_;
    later([done = std::move(done), findings = std::move(findings)] { done(findings); });
    return operation;
  }

  void cancel(Operation operation) override {
    // Outlives the call: what a sink holds may call us when it is destroyed.
    const auto silenced = watches_.extract(operation);
    // Behind an answer that is on its way already: the true one is better.
    if (const auto call = calls_.find(operation); call != calls_.end()) later(call->second);
  }

 private:
  [[nodiscard]] Place place(std::string election) const {
    return {service_, options_.clock, std::move(election)};
  }

  // On the executor, not inside this call, and only if the store lives to see it.
  void later(Task task) {
    executor().post([task = std::move(task), alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) task();
    });
  }

  // The work is done where it may block; what follows from it, on the executor. Tasks that wait for
  // each other's executors must not own them.
  template <typename Work, typename Then>
  void elsewhere(Work work, Then then) {
    options_.requests->post([work = std::move(work), then = std::move(then),
                             here = std::weak_ptr(options_.executor),
                             alive = std::weak_ptr(alive_)]() mutable {
      const std::shared_ptr<Executor> executor = here.lock();
      if (executor == nullptr) return;
      executor->post([then = std::move(then), result = work(), alive = std::move(alive)]() mutable {
        if (!alive.expired()) then(std::move(result));
      });
    });
  }

  // Begins a call. It is answered by the work or by cancel(), whichever is first.
  template <typename Answered, typename Work>
  Operation begin(Answered unknown, std::function<void(Answered)> done, Work work) {
    const Operation operation = ++last_operation_;
    // It lives with the work, not with the store: what it holds may in turn hold the store.
    auto open = std::make_shared<std::function<void(Answered)>>(std::move(done));
    calls_.emplace(operation, [call = std::weak_ptr(open), unknown = std::move(unknown)] {
      if (const auto still_open = call.lock()) answer(*still_open, unknown);
    });
    elsewhere(std::move(work), [this, operation, open = std::move(open)](Answered with) {
      calls_.erase(operation);
      answer(*open, std::move(with));
    });
    return operation;
  }

  template <typename Answered, typename Rule>
  Operation ask(std::string election, std::function<void(Answered)> done, Rule rule) {
    return begin<Answered>(Unknown{given_up()}, std::move(done),
                           [at = place(std::move(election)), rule = std::move(rule)] {
                             return apply<Answered>(at, rule);
                           });
  }

  void look(Operation operation) {
    const auto watch = watches_.find(operation);
    if (watch == watches_.end()) return;
    elsewhere(
        [at = place(watch->second->election)] {
          return apply<Look>(at, [](const CasElection& found, Instant) { return Look{found}; });
        },
        [this, operation](const Look& look) { looked(operation, look); });
  }

  void looked(Operation operation, const Look& look) {
    const auto found = watches_.find(operation);
    if (found == watches_.end()) return;
    executor().post_at(clock().now() + lease() / 4,
                       [this, operation, alive = std::weak_ptr(alive_)] {
                         if (!alive.expired()) this->look(operation);
                       });
    // A look that failed is no news. Whoever bids is told why.
    const auto* election = std::get_if<CasElection>(&look);
    // Outlives its entry: a sink may cancel its own observation.
    const std::shared_ptr<Watch> watch = found->second;
    if (election == nullptr || watch->told == *election) return;
    watch->told = *election;
    watch->highest = std::max(watch->highest, election->term);
    watch->sink(election->present(watch->highest));
  }

  const std::shared_ptr<CasService> service_;
  const CasOptions options_;
  Operation last_operation_ = 0;
  std::map<Operation, Task> calls_;  // each with what gives it up
  std::map<Operation, std::shared_ptr<Watch>> watches_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::shared_ptr<Store> make_cas_store(std::shared_ptr<CasService> service, CasOptions options) {
  TimingOptions timing;
  timing.lease = options.lease;
  if (const auto refused = resolve_timing(timing); !refused) {
    throw std::invalid_argument(refused.error().message);
  }
  return std::make_shared<CasStore>(std::move(service), std::move(options));
}

}  // namespace own_store
