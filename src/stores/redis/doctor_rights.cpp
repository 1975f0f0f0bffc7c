// Which rights are missing: all that the store does is tried, so that each is named.
#include <algorithm>
#include <array>

#include "stores/redis/examination.hpp"
#include "stores/redis/replies.hpp"
#include "stores/redis/rights.hpp"
#include "stores/redis/trouble.hpp"

namespace conclave::redis {
namespace {

// All that the scripts do, on keys of which there are none: what is there is somebody else's. What
// it writes it takes away, whatever else it may not do. Gives the commands that are forbidden.
constexpr std::string_view rights_probe = R"lua(
local hash, queue, text = unpack(KEYS)
local refused = {}
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not (reply.err:find('user executing the script') or reply.err:find('ACL failure')) then error(reply.err) end
  refused[#refused + 1] = string.lower((...))
  return nil
end
local there = try('EXISTS', unpack(KEYS))
if there and there > 0 then return {} end
local may_clean = try('DEL', unpack(KEYS))
try('TIME')
try('HGET', hash, 'a')
try('HMGET', hash, 'a')
try('TYPE', hash)
try('HDEL', hash, 'a')
try('ZRANGE', queue, 0, 0)
try('ZRANK', queue, 'a')
try('ZCARD', queue)
try('ZREM', queue, 'a')
try('GET', text)
if there and may_clean then
  try('HSET', hash, 'a', 'b')
  try('ZADD', queue, 1, 'a')
  try('SET', text, 'a')
  redis.call('DEL', unpack(KEYS))
end
return refused
)lua";

// What goes on without it, less well. Without all others there are no elections.
struct Optional {
  std::string_view right;
  Severity severity;
  std::string_view without;
};
constexpr std::array optional_rights{
    Optional{"+info", Severity::warning,
             "for how long the server has decided cannot be asked: every new process waits one "
             "lease before it leads"},
    Optional{"+pubsub", Severity::warning,
             "whether somebody leads whose record was deleted cannot be asked"},
    Optional{"+publish", Severity::warning,
             "nobody is told that a place is free, and candidates look"},
    Optional{"+subscribe", Severity::warning,
             "nobody is told that a place is free, and candidates look"},
    Optional{"&", Severity::warning, "nobody is told that a place is free, and candidates look"},
    Optional{"+unsubscribe", Severity::warning,
             "who has led seems to lead on where its record was deleted"},
    Optional{"+ping", Severity::note,
             "the server refuses what asks whether the listening connection lives"},
};

const Optional* optional_right(std::string_view right) {
  const auto* const found =
      std::find_if(optional_rights.begin(), optional_rights.end(),
                   [&](const Optional& each) { return right.starts_with(each.right); });
  return found != optional_rights.end() ? found : nullptr;
}

const RedisError* error_in(const RedisReply& reply) {
  return std::get_if<RedisError>(&reply.value);
}

void add(std::vector<std::string>& rights, std::string right) {
  if (std::find(rights.begin(), rights.end(), right) == rights.end())
    rights.push_back(std::move(right));
}

std::vector<std::string> missing_rights(const Examination& e) {
  const std::string& prefix = e.patient.settings.prefix;
  std::vector<std::string> missing;
  const auto refused = [&](std::string_view message) {
    if (auto right = missing_in(message, prefix)) add(missing, *std::move(right));
  };
  for (const RedisReply& each : e.replies) {
    if (&each == &e.replies[Examination::saving] || &each == &e.replies[Examination::users])
      continue;  // only doctor asks for those
    if (const auto* const error = error_in(each)) refused(error->message);
  }
  if (const auto* const names = elements_in(e.replies[Examination::rights])) {
    for (const RedisReply& each : *names) {
      if (const std::string* const name = text_in(each)) add(missing, "+" + *name);
    }
  }
  if (e.patient.listening) {
    for (const std::string& each : *e.patient.listening) refused(each);
  }
  return missing;
}

// Other errors than missing rights. That nobody knows the script is the right answer.
void judge_refusals(const Examination& e, std::vector<Finding>& findings) {
  for (const auto question : {Examination::rights, Examination::digests}) {
    const auto* const error = error_in(e.replies[question]);
    if (error == nullptr || error->message.starts_with("NOSCRIPT") ||
        missing_in(error->message, e.patient.settings.prefix)) {
      continue;
    }
    findings.push_back(
        {Severity::danger, "scripts",
         trouble_of(*error, e.commands.where(), "the key " + e.patient.probe).error.message,
         "mend that, and look again: rights could not be tried"});
  }
}

}  // namespace

Command ask_for_rights(const std::string& probe, bool knows_flags) {
  // A full memory is another finding.
  const std::string flags = knows_flags ? "#!lua flags=allow-oom\n" : "";
  return {
      "EVAL", flags + std::string(rights_probe), "3", probe, queue_key(probe), metadata_key(probe)};
}

void judge_rights(const Examination& e, std::vector<Finding>& findings) {
  const StoreSettings& settings = e.patient.settings;
  std::string needed;
  std::vector<Finding> others;
  for (const std::string& right : missing_rights(e)) {
    if (const Optional* const optional = optional_right(right)) {
      others.push_back({optional->severity, "rights: " + right, std::string(optional->without),
                        grant(settings.user, right)});
    } else {
      needed += (needed.empty() ? "" : " ") + right;
    }
  }
  if (!needed.empty()) {
    findings.push_back(
        {Severity::danger, "rights: " + needed,
         e.commands.where() + " forbids the user " + settings.user +
             " what no election can do without",
         grant(settings.user, all_rights(settings.prefix, !settings.is_default_database))});
  }
  judge_refusals(e, findings);
  findings.insert(findings.end(), others.begin(), others.end());
  if (!e.patient.listening) {
    findings.push_back({Severity::warning, "listening connection",
                        "nobody is told that a place is free, and candidates look: " +
                            e.patient.listening.error().message,
                        "let each process have two connections"});
  }
}

}  // namespace conclave::redis
