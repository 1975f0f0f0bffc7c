// How the verbs ask and answer.
#pragma once

#include "stores/redis/redis_store.hpp"
#include "stores/redis/trouble.hpp"

namespace conclave::redis {

// Runs the script, and answers with what `understand` makes of the reply.
template <typename Answered, typename Act>
Operation RedisStore::ask(std::function<void(Answered)> done, const Script& script, Command keys,
                          Command arguments, Act understand) {
  const auto call = calls_.begin<Answered>(std::move(done));
  const Operation operation = call->operation;
  commands_->prepare(
      calls_.while_alive([=, this, &script, keys = std::move(keys),
                          arguments = std::move(arguments)](const std::optional<Error>& failed) {
        if (failed) return calls_.answer(call, Answered{Unknown{*failed}});
        if (!call->is_open()) return;
        commands_->run(script, keys, arguments,
                       calls_.while_alive([=, this](const Result<Delivered>& got) {
                         calls_.answer(call, Answered{understand(got)});
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
      loop_->post(calls_.while_alive([this, why = trouble.error] { commands_->greet_again(why); }));
    }
    if (trouble.definite) return Refused{std::move(trouble.error)};
    return Unknown{std::move(trouble.error)};
  }
  Fault fault = fault_in(answer->reply, asked(record), to);
  if (fault.definite) return Refused{std::move(fault.error)};
  return Unknown{std::move(fault.error)};
}

}  // namespace conclave::redis
