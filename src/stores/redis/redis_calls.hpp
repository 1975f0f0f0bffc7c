// How the verbs are called and answered: each exactly once, also when it is given up.
#pragma once

#include "stores/redis/redis_store.hpp"
#include "stores/redis/trouble.hpp"

namespace conclave::redis {

template <typename Act>
auto RedisStore::while_alive(Act act) {
  return [act = std::move(act), alive = std::weak_ptr(alive_)](auto&&... what) mutable {
    if (!alive.expired()) act(std::forward<decltype(what)>(what)...);
  };
}

template <typename Answered>
RedisStore::CallPtr<Answered> RedisStore::begin(std::function<void(Answered)> done) {
  auto call = std::make_shared<Call<Answered>>();
  call->operation = ++last_operation_;
  call->done = std::move(done);
  calls_.emplace(call->operation, [this, call] {
    loop_->post(while_alive(
        [this, call] { answer(call, Answered{Unknown{given_up(commands_->where())}}); }));
  });
  return call;
}

// Nothing of the store is touched afterwards: whoever is told may end its life.
template <typename Answered>
void RedisStore::answer(const CallPtr<Answered>& call, Answered with) {
  const auto done = std::exchange(call->done, nullptr);
  if (!done) return;
  calls_.erase(call->operation);
  done(std::move(with));
}

template <typename Done, typename Answered>
Operation RedisStore::reply(Done done, Answered with) {
  loop_->post(while_alive(
      [done = std::move(done), with = std::move(with)]() mutable { done(std::move(with)); }));
  return ++last_operation_;
}

// Runs the script, and answers with what `understand` makes of the reply.
template <typename Answered, typename Act>
Operation RedisStore::ask(std::function<void(Answered)> done, const Script& script, Command keys,
                          Command arguments, Act understand) {
  const auto call = begin<Answered>(std::move(done));
  const Operation operation = call->operation;
  commands_->prepare(while_alive([=, this, &script, keys = std::move(keys),
                                  arguments =
                                      std::move(arguments)](const std::optional<Error>& failed) {
    if (failed) return answer(call, Answered{Unknown{*failed}});
    if (!call->done) return;
    commands_->run(script, keys, arguments, while_alive([=, this](const Result<Delivered>& got) {
                     answer(call, Answered{understand(got)});
                   }));
  }));
  return operation;
}

// An error, or a reply that is none of those expected.
template <typename Answered>
Answered RedisStore::not_understood(const Result<Delivered>& answer, const std::string& record,
                                    std::string_view to) {
  if (!answer) return Unknown{answer.error()};
  if (const auto* error = std::get_if<RedisError>(&answer->reply.value)) {
    Trouble trouble = trouble_of(*error, commands_->where(), "the key " + record);
    if (trouble.reconnect) {
      loop_->post(while_alive([this, why = trouble.error] { commands_->greet_again(why); }));
    }
    if (trouble.definite) return Refused{std::move(trouble.error)};
    return Unknown{std::move(trouble.error)};
  }
  Fault fault = fault_in(answer->reply, asked(record), to);
  if (fault.definite) return Refused{std::move(fault.error)};
  return Unknown{std::move(fault.error)};
}

}  // namespace conclave::redis
