#include <conclave/testing/faulty_store.hpp>

#include <stdexcept>

#include "stores/faulty/state.hpp"

namespace conclave::testing {
namespace {

void refuse_nonsense(const Odds& odds) {
  const double all[] = {odds.lose_request, odds.lose_reply, odds.delay_request,   odds.delay_reply,
                        odds.duplicate,    odds.unknown,    odds.drop_observation};
  double sum = 0;
  for (const double each : all) {
    if (!(each >= 0 && each <= 1)) {
      throw std::invalid_argument("each of the Odds is a number from 0 to 1: one of them is " +
                                  std::to_string(each));
    }
    sum += each;
  }
  if (sum - odds.drop_observation > 1) {
    throw std::invalid_argument("the Odds of one call are together at most 1: they are " +
                                std::to_string(sum - odds.drop_observation));
  }
  if (odds.longest_delay < Duration::zero()) {
    throw std::invalid_argument("Odds::longest_delay is negative: give it a length of time");
  }
}

}  // namespace
namespace {

Error given_up() {
  return Error{ErrorCode::cancelled, "the call was given up before its answer came", true, true};
}

// Those with a single answer are handled as those with many.
template <typename Answered>
auto numbered(std::function<void(Answered)> done) {
  return [done = std::move(done)](std::size_t, Answered answer) { done(std::move(answer)); };
}

template <typename Answered>
auto unnumbered(std::function<void(std::size_t, Answered)> done) {
  return [done = std::move(done)](Answered answer) { done(0, std::move(answer)); };
}

}  // namespace

FaultyStore::FaultyStore(std::shared_ptr<Store> inside) {
  if (inside == nullptr)
    throw std::invalid_argument("FaultyStore needs a store to wrap: it is null");
  state_ = std::make_shared<State>(std::move(inside));
}
FaultyStore::~FaultyStore() = default;

void FaultyStore::next(Verb verb, Fault fault) {
  if (fault.delay < Duration::zero()) {
    throw std::invalid_argument("Fault::delay is negative: nothing happens before it is asked for");
  }
  state_->script.next(verb, std::move(fault));
}

void FaultyStore::randomly(std::uint64_t seed, Odds odds) {
  refuse_nonsense(odds);
  state_->script.randomly(seed, odds);
}

void FaultyStore::partition() { state_->script.change(Weather::partitioned); }
void FaultyStore::freeze() { state_->script.change(Weather::frozen); }
std::uint64_t FaultyStore::count(Verb verb) const { return state_->script.count(verb); }

void FaultyStore::heal() {
  const bool reconnects = state_->script.change(Weather::fair) != Weather::fair;
  executor().post([self = std::weak_ptr(state_), reconnects] {
    if (const auto state = self.lock()) state->healed(reconnects);
  });
}

const Traits& FaultyStore::traits() const noexcept { return state_->inside->traits(); }
Duration FaultyStore::lease() const noexcept { return state_->inside->lease(); }
const Clock& FaultyStore::clock() const noexcept { return state_->inside->clock(); }
Executor& FaultyStore::executor() noexcept { return state_->inside->executor(); }

// Each names the store by reference: a request is only ever sent by the state that owns it.

Operation FaultyStore::campaign(Bid bid, std::function<void(CampaignAnswer)> done) {
  return state_->start<CampaignAnswer>(
      Verb::campaign, 1,
      [&store = *state_->inside, bid = std::move(bid)](auto heard) {
        return store.campaign(bid, unnumbered<CampaignAnswer>(std::move(heard)));
      },
      numbered<CampaignAnswer>(std::move(done)));
}

Operation FaultyStore::renew(std::vector<Renewal> due,
                             std::function<void(std::size_t, RenewAnswer)> done) {
  const std::size_t answers = due.size();
  return state_->start<RenewAnswer>(
      Verb::renew, answers,
      [&store = *state_->inside, due = std::move(due)](auto heard) {
        return store.renew(due, std::move(heard));
      },
      std::move(done));
}

Operation FaultyStore::resign(Resignation resignation, std::function<void(Answer)> done) {
  return state_->start<Answer>(
      Verb::resign, 1,
      [&store = *state_->inside, resignation = std::move(resignation)](auto heard) {
        return store.resign(resignation, unnumbered<Answer>(std::move(heard)));
      },
      numbered<Answer>(std::move(done)));
}

Operation FaultyStore::observe(std::string election, std::string candidate, Sink sink) {
  return state_->observe(std::move(election), std::move(candidate), std::move(sink));
}

Operation FaultyStore::inspect(std::string election, std::function<void(InspectAnswer)> done) {
  return state_->start<InspectAnswer>(
      Verb::inspect, 1,
      [&store = *state_->inside, election = std::move(election)](auto heard) {
        return store.inspect(election, unnumbered<InspectAnswer>(std::move(heard)));
      },
      numbered<InspectAnswer>(std::move(done)));
}

Operation FaultyStore::end(std::string election, std::function<void(Answer)> done) {
  return state_->start<Answer>(
      Verb::end, 1,
      [&store = *state_->inside, election = std::move(election)](auto heard) {
        return store.end(election, unnumbered<Answer>(std::move(heard)));
      },
      numbered<Answer>(std::move(done)));
}

Operation FaultyStore::remove(std::string election, Remains remains,
                              std::function<void(Answer)> done) {
  return state_->start<Answer>(
      Verb::remove, 1,
      [&store = *state_->inside, election = std::move(election), remains](auto heard) {
        return store.remove(election, remains, unnumbered<Answer>(std::move(heard)));
      },
      numbered<Answer>(std::move(done)));
}

Operation FaultyStore::check(std::function<void(CheckAnswer)> done) {
  return state_->start<CheckAnswer>(
      Verb::check, 1,
      [&store = *state_->inside](auto heard) {
        return store.check(unnumbered<CheckAnswer>(std::move(heard)));
      },
      numbered<CheckAnswer>(std::move(done)));
}

void FaultyStore::cancel(Operation operation) { state_->cancel(operation); }

// ---------------------------------------------------------------- the state

void FaultyStore::State::later(Duration delay, std::function<void(State&)> what) {
  auto task = [self = weak_from_this(), what = std::move(what)] {
    if (const auto state = self.lock()) what(*state);
  };
  Executor& executor = inside->executor();
  if (delay == Duration::zero()) return executor.post(std::move(task));
  executor.post_at(inside->clock().now() + delay, std::move(task));
}

void FaultyStore::State::cancel(Operation operation) {
  if (const auto watch = watches_.extract(operation)) {
    watch.mapped()->over = true;
    if (watch.mapped()->inside) inside->cancel(*watch.mapped()->inside);
    return;
  }
  const auto found = calls_.extract(operation);
  if (!found) return;
  const std::shared_ptr<Pending>& call = found.mapped();
  if (call->inside) inside->cancel(*call->inside);
  // Behind whatever is on its way already: the true answer is better.
  for (std::size_t i = 0; i < call->answers(); ++i) {
    later(Duration::zero(), [call, i](State&) { call->give_up(i, given_up()); });
  }
}

Operation FaultyStore::State::observe(std::string election, std::string candidate, Sink sink) {
  const Operation operation = ++last_operation_;
  auto watch = std::make_shared<Watch>();
  watch->election = std::move(election);
  watch->candidate = std::move(candidate);
  watch->sink = std::move(sink);
  watches_.emplace(operation, watch);
  if (script.weather() == Weather::fair) begin(watch);
  return operation;
}

void FaultyStore::State::begin(const std::shared_ptr<Watch>& watch) {
  watch->inside = inside->observe(
      watch->election, watch->candidate,
      [self = weak_from_this(), weak = std::weak_ptr(watch)](const Observation& what) {
        const auto state = self.lock();
        const auto told = weak.lock();
        if (state && told) state->told(told, what);
      });
}

void FaultyStore::State::told(const std::shared_ptr<Watch>& watch, const Observation& what) {
  if (watch->over || script.weather() != Weather::fair) return;
  const Fault fault = script.choose(Verb::observe);
  const auto again = [watch, what](State& state) {
    if (!watch->over && state.script.weather() == Weather::fair) watch->sink(what);
  };
  switch (fault.kind) {
    case Fault::Kind::none: return watch->sink(what);
    case Fault::Kind::delay_request:
    case Fault::Kind::delay_reply: return later(fault.delay, again);
    case Fault::Kind::duplicate: watch->sink(what); return later(fault.delay, again);
    default: return;
  }
}

void FaultyStore::State::healed(bool reconnects) {
  const auto watches = reconnects ? watches_ : decltype(watches_){};
  for (const auto& [operation, watch] : watches) {
    if (watch->over) continue;
    if (watch->inside) inside->cancel(*watch->inside);
    begin(watch);
  }
  // One task each: any of them may be the last that the store lives to see.
  auto waiting = std::exchange(hanging_, {});
  for (auto& each : waiting) later(Duration::zero(), std::move(each));
}

}  // namespace conclave::testing
