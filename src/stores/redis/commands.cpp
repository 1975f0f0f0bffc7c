#include "stores/redis/commands.hpp"

namespace conclave::redis {
namespace {

bool is_unknown_script(const Result<Delivered>& answer) {
  if (!answer) return false;
  const auto* const error = std::get_if<RedisError>(&answer->reply.value);
  return error != nullptr && error->message.starts_with("NOSCRIPT");
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
  auto in_full = std::make_shared<Command>(command);
  send(std::move(command), [this, done, in_full, &known](Result<Delivered> answer) {
    if (!is_unknown_script(answer)) return done(std::move(answer));
    (*in_full)[0] = "EVAL";
    (*in_full)[1] = known.text;
    send(std::move(*in_full), done);
  });
}

}  // namespace conclave::redis
