#include "stores/redis/commands.hpp"

#include <algorithm>
#include <span>

#include "stores/redis/keys.hpp"
#include "stores/redis/replies.hpp"
#include "stores/redis/trouble.hpp"

namespace conclave::redis {
namespace {

bool is_unknown_script(const Result<Delivered>& answer) {
  if (!answer) return false;
  const auto* const error = std::get_if<RedisError>(&answer->reply.value);
  return error != nullptr && error->message.starts_with("NOSCRIPT");
}

bool is_wrong_type(const Result<Delivered>& answer) {
  if (!answer) return false;
  const auto* const error = std::get_if<RedisError>(&answer->reply.value);
  return error != nullptr && error->message.find("WRONGTYPE") != std::string::npos;
}

constexpr std::string_view types_of = R"lua(
local types = {}
for i, key in ipairs(KEYS) do types[i] = redis.call('TYPE', key).ok end
return types
)lua";

std::string_view kind_of(std::string_view key) {
  if (key.ends_with("}:queue")) return "zset";
  return key.ends_with("}:metadata") ? "string" : "hash";
}

// None when nothing is in the way any more.
std::optional<std::string> key_in_the_way(const RedisReply& types,
                                          std::span<const std::string> keys) {
  const auto* const found = elements_in(types);
  for (std::size_t i = 0; found != nullptr && i < std::min(keys.size(), found->size()); ++i) {
    const std::string* const type = text_in((*found)[i]);
    if (type != nullptr && *type != "none" && *type != kind_of(keys[i])) return keys[i];
  }
  return std::nullopt;
}

}  // namespace

const Commands::Prepared& Commands::prepared(const Script& script) {
  const bool flags = greeting().knows_flags;
  auto& known = prepared_[{&script, flags}];
  if (known.text.empty()) {
    known.text = text_of(script, flags);
    known.digest = digest_of(known.text);
  }
  return known;
}

void Commands::run(const Script& script, const Command& keys, const Command& arguments,
                   const Done& done) {
  const Prepared& known = prepared(script);
  Command command{"EVALSHA", known.digest, std::to_string(keys.size())};
  command.reserve(3 + keys.size() + arguments.size());
  command.insert(command.end(), keys.begin(), keys.end());
  command.insert(command.end(), arguments.begin(), arguments.end());
  // Scripts are kept by the server until somebody flushes them: nearly always it knows them.
  // Whoever waits for the answer holds on to this object.
  const auto in_full = std::make_shared<Command>(command);
  Done answered = [this, done, in_full, &known, count = keys.size()](Result<Delivered> answer) {
    if (is_wrong_type(answer)) return name_key(*in_full, count, done);
    if (!is_unknown_script(answer)) return done(std::move(answer));
    (*in_full)[0] = "EVAL";
    (*in_full)[1] = known.text;
    send(*in_full, [this, done, in_full, count](Result<Delivered> again) {
      if (is_wrong_type(again)) return name_key(*in_full, count, done);
      done(std::move(again));
    });
  };
  if (script.calls_up) return send_for_others(std::move(command), std::move(answered));
  send(std::move(command), std::move(answered));
}

// The server does not say which key it is that holds something else: it is asked.
void Commands::name_key(Command command, std::size_t count, const Done& done) {
  command.resize(3 + count);
  command[0] = "EVAL";
  command[1] = types_of;
  auto keys = std::make_shared<const Command>(command.begin() + 3, command.end());
  send(std::move(command), [this, keys, done](const Result<Delivered>& types) {
    if (!types || std::holds_alternative<RedisError>(types->reply.value)) return done(types);
    const auto key = key_in_the_way(types->reply, *keys);
    if (!key) {
      return done(Error{ErrorCode::unavailable,
                        where() + " had something else under a key of the election, and has it no "
                                  "more: the request is repeated",
                        true, true});
    }
    done(Delivered{{wrong_type(*key)}, types->sent, types->received});
  });
}

}  // namespace conclave::redis
