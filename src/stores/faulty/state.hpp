// What is behind a faulty store: the store inside, the script, and what is in flight. It is shared
// with nobody; tasks hold it weakly, so that nothing happens after its end.
#pragma once

#include <map>

#include "stores/faulty/call.hpp"
#include "stores/faulty/script.hpp"

namespace conclave::testing {

class FaultyStore::State final : public std::enable_shared_from_this<State> {
 public:
  explicit State(std::shared_ptr<Store> store) : inside(std::move(store)) {}

  // Makes a call, and lets happen to it what the script says.
  template <typename Answered>
  Operation start(Verb verb, std::size_t answers, typename Call<Answered>::Send send,
                  typename Call<Answered>::Done done) {
    const Operation operation = ++last_operation_;
    auto call = std::make_shared<Call<Answered>>(answers, std::move(send), std::move(done));
    if (answers != 0) calls_.emplace(operation, call);
    meet<Answered>(script.choose(verb), operation, call);
    return operation;
  }

  Operation observe(std::string election, std::string candidate, Sink sink);
  void cancel(Operation operation);
  void healed(bool reconnects);

  const std::shared_ptr<Store> inside;
  Script script;

 private:
  template <typename Answered>
  using CallPtr = std::shared_ptr<Call<Answered>>;

  struct Watch {
    std::string election;
    std::string candidate;
    Sink sink;
    std::optional<Operation> inside;
    bool over = false;
  };

  template <typename Answered>
  void meet(const Fault& fault, Operation operation, const CallPtr<Answered>& call) {
    switch (fault.kind) {
      case Fault::Kind::none: return send(operation, call, Duration::zero());
      case Fault::Kind::lose_request: return;
      case Fault::Kind::lose_reply: return send_unheard(call);
      case Fault::Kind::delay_reply: return send(operation, call, fault.delay);
      case Fault::Kind::delay_request:
        return later(fault.delay, [=](State& state) { state.arrive(operation, call); });
      case Fault::Kind::duplicate:
        send(operation, call, Duration::zero());
        return later(fault.delay, [=](State& state) { state.send_unheard(call); });
      case Fault::Kind::unknown: return answer_all(operation, call, Answered{Unknown{fault.error}});
      case Fault::Kind::refuse: return answer_all(operation, call, Answered{Refused{fault.error}});
      case Fault::Kind::hang:
        hanging_.push_back([=](State& state) { state.arrive(operation, call); });
        return;
    }
  }

  // A request that was on its way for some time.
  template <typename Answered>
  void arrive(Operation operation, const CallPtr<Answered>& call) {
    switch (script.weather()) {
      case Weather::fair: return send(operation, call, Duration::zero());
      case Weather::partitioned: return;
      case Weather::frozen:
        hanging_.push_back([=](State& state) { state.arrive(operation, call); });
        return;
    }
  }

  template <typename Answered>
  void send(Operation operation, const CallPtr<Answered>& call, Duration delay) {
    call->inside = call->send(
        [self = weak_from_this(), operation, call, delay](std::size_t index, Answered answer) {
          const auto state = self.lock();
          if (!state) return;
          if (delay == Duration::zero()) return state->hear(operation, call, index, answer);
          state->later(delay, [=](State& then) { then.hear(operation, call, index, answer); });
        });
  }

  template <typename Answered>
  void send_unheard(const CallPtr<Answered>& call) {
    if (script.weather() != Weather::fair) return;
    static_cast<void>(call->send([](std::size_t, const Answered&) {}));
  }

  // A reply that has arrived at this end, if anything does.
  template <typename Answered>
  void hear(Operation operation, const CallPtr<Answered>& call, std::size_t index,
            const Answered& answer) {
    switch (script.weather()) {
      case Weather::fair: break;
      case Weather::partitioned: return;
      case Weather::frozen:
        hanging_.push_back([=](State& state) { state.hear(operation, call, index, answer); });
        return;
    }
    call->answer(index, answer);
    if (call->finished()) calls_.erase(operation);
  }

  template <typename Answered>
  void answer_all(Operation operation, const CallPtr<Answered>& call, const Answered& answer) {
    for (std::size_t i = 0; i < call->answers(); ++i) {
      later(Duration::zero(), [=](State& state) { state.hear(operation, call, i, answer); });
    }
  }

  void later(Duration delay, std::function<void(State&)> what);
  void begin(const std::shared_ptr<Watch>& watch);
  void told(const std::shared_ptr<Watch>& watch, const Observation& what);

  Operation last_operation_ = 0;
  std::map<Operation, std::shared_ptr<Pending>> calls_;
  std::map<Operation, std::shared_ptr<Watch>> watches_;
  std::vector<std::function<void(State&)>> hanging_;
};

}  // namespace conclave::testing
