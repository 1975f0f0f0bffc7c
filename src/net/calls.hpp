// How the verbs of a store are answered: each exactly once, on the loop, never inside the call, and
// also when it is given up.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include <conclave/store.hpp>

namespace conclave::net {

template <typename Answered>
struct Call {
  Operation operation{};
  std::function<void(Answered)> done{};

  [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(done); }
};
template <typename Answered>
using CallPtr = std::shared_ptr<Call<Answered>>;

class Calls {
 public:
  // `given_up` is the error of whoever gives a call up.
  Calls(Executor& loop, std::function<Error()> given_up)
      : loop_(loop), given_up_(std::move(given_up)) {}

  [[nodiscard]] Operation number() noexcept { return ++last_; }

  // Does nothing any more when this has gone, and the store with it.
  template <typename Act>
  auto while_alive(Act act) const {
    return [act = std::move(act), alive = std::weak_ptr(alive_)](auto&&... what) mutable {
      if (!alive.expired()) act(std::forward<decltype(what)>(what)...);
    };
  }
  [[nodiscard]] std::weak_ptr<bool> alive() const noexcept { return alive_; }

  template <typename Answered>
  CallPtr<Answered> begin(std::function<void(Answered)> done) {
    auto call = std::make_shared<Call<Answered>>();
    call->operation = number();
    call->done = std::move(done);
    begin(call->operation, [this, call] { answer(call, Answered{Unknown{given_up_()}}); });
    return call;
  }
  // For a call with answers of its own: what is done, on the loop, when it is given up.
  void begin(Operation operation, Task give_up) { open_.emplace(operation, std::move(give_up)); }
  void end(Operation operation) { open_.erase(operation); }

  // Nothing of the store may be touched afterwards: whoever is told may end its life.
  template <typename Answered>
  void answer(const CallPtr<Answered>& call, Answered with) {
    const auto done = std::exchange(call->done, nullptr);
    if (!done) return;
    open_.erase(call->operation);
    done(std::move(with));
  }

  // For what needs no server to be answered.
  template <typename Done, typename Answered>
  Operation reply(Done done, Answered with) {
    loop_.post(while_alive(
        [done = std::move(done), with = std::move(with)]() mutable { done(std::move(with)); }));
    return number();
  }

  void give_up(Operation operation) {
    const auto call = open_.find(operation);
    if (call != open_.end()) loop_.post(while_alive(call->second));
  }

 private:
  Executor& loop_;
  const std::function<Error()> given_up_;
  std::map<Operation, Task> open_;  // what is done when they are given up
  Operation last_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace conclave::net
