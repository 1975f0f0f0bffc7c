#include "stores/redis/doctor.hpp"

#include <algorithm>
#include <array>

#include "stores/redis/keys.hpp"
#include "stores/redis/trouble.hpp"

namespace conclave::redis {
namespace {

// What is asked, in this order; the questions after it measure the round trip.
enum Question : std::size_t {
  memory,
  persistence,
  replication,
  server,
  saving,
  rights,
  digests,
  channels,
  messages,
  asked
};
constexpr std::size_t round_trips = 9;

// All that the scripts do, on keys of which there are none: what is there is somebody else's. What
// it writes it takes away, whatever else it may not do.
constexpr std::string_view rights_probe = R"lua(
if redis.call('EXISTS', unpack(KEYS)) > 0 then return 0 end
local hash, queue, text = unpack(KEYS)
redis.call('DEL', hash, queue, text)
local refused = nil
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then refused = refused or reply end
end
try('TIME')
try('HSET', hash, 'a', 'b')
try('HGET', hash, 'a')
try('HMGET', hash, 'a')
try('HGETALL', hash)
try('TYPE', hash)
try('HDEL', hash, 'a')
try('ZADD', queue, 1, 'a')
try('ZRANGE', queue, 0, 0)
try('ZRANK', queue, 'a')
try('ZCARD', queue)
try('ZREM', queue, 'a')
try('SET', text, 'a')
try('GET', text)
redis.call('DEL', hash, queue, text)
return refused or 1
)lua";

struct Examination {
  Commands& commands;
  Patient patient;
  std::function<void(Result<std::vector<Finding>>)> done;
  std::vector<RedisReply> replies{};
  std::vector<Duration> trips{};
  Instant before{};
};
using ExaminationPtr = std::shared_ptr<Examination>;

std::string milliseconds(Duration duration) {
  const auto tenths = std::chrono::round<std::chrono::microseconds>(duration).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " ms";
}

bool is_error(const RedisReply& reply) { return std::holds_alternative<RedisError>(reply.value); }

void judge_memory(const Examination& e, std::vector<Finding>& findings) {
  const auto policy = info_line(e.replies[memory], "maxmemory_policy").value_or("");
  const auto limit = info_line(e.replies[memory], "maxmemory").value_or("0");
  if (!policy.starts_with("allkeys-")) return;
  findings.push_back(
      {limit == "0" ? Severity::note : Severity::danger, "maxmemory-policy " + policy,
       limit == "0" ? "as soon as a maxmemory is set, the server deletes records of elections"
                    : "the server deletes records of elections when its memory is full",
       "set maxmemory-policy to noeviction or to one of volatile-*, or use a server of "
       "its own"});
}

void judge_persistence(const Examination& e, std::vector<Finding>& findings) {
  const RedisReply& info = e.replies[persistence];
  if (info_line(info, "rdb_last_bgsave_status").value_or("ok") != "ok") {
    findings.push_back({Severity::warning, "rdb_last_bgsave_status",
                        "the last save failed; by default the server then refuses all writes",
                        "see its log, and give it room on its disk"});
  }
  const auto* const pair = elements_in(e.replies[saving]);
  const std::string* const rules =
      pair != nullptr && pair->size() > 1 ? text_in((*pair)[1]) : nullptr;
  const bool appends = info_line(info, "aof_enabled").value_or("0") == "1";
  if (appends || (rules != nullptr && !rules->empty())) return;
  if (rules == nullptr) return;  // nobody may ask: nothing is known
  findings.push_back(
      {Severity::note, "save, appendonly",
       "the server keeps nothing on disk: when it is restarted, leaders write their records "
       "anew, and nobody else is elected for one lease",
       "set appendonly yes where ended elections must stay ended after a restart"});
}

void judge_replicas(const Examination& e, std::vector<Finding>& findings) {
  const auto count = info_line(e.replies[replication], "connected_slaves").value_or("0");
  if (count == "0") return;
  findings.push_back(
      {Severity::warning, "connected_slaves " + count,
       "a replica that is promoted may not have heard of the last grant: then two lead for "
       "up to a lease, and only the term tells them apart",
       "fence with the term, or use a server without automatic promotion"});
}

// That nobody knows the script is the right answer.
const RedisError* refusal(const Examination& e) {
  if (const auto* error = std::get_if<RedisError>(&e.replies[rights].value)) return error;
  const auto* const error = std::get_if<RedisError>(&e.replies[digests].value);
  return error != nullptr && !error->message.starts_with("NOSCRIPT") ? error : nullptr;
}

void judge_rights(const Examination& e, std::vector<Finding>& findings) {
  if (const RedisError* const error = refusal(e)) {
    findings.push_back(
        {Severity::danger, "rights",
         trouble_of(*error, e.commands.where(), "the key " + e.patient.probe).error.message,
         "ACL SETUSER ... ~" + e.patient.settings.prefix + "* &" + e.patient.settings.prefix +
             "* +@all, or the list in docs/stores/redis.md"});
  }
  if (is_error(e.replies[server]) || is_error(e.replies[replication])) {
    findings.push_back(
        {Severity::warning, "rights: info",
         "for how long the server has decided cannot be asked: every new process waits one "
         "lease before it leads",
         "ACL SETUSER ... +info"});
  }
  if (is_error(e.replies[channels]) || is_error(e.replies[messages])) {
    findings.push_back({Severity::warning, "rights: pubsub",
                        "nobody is told that a place is free, and whether somebody leads whose "
                        "record was deleted cannot be asked",
                        "ACL SETUSER ... +pubsub +publish +subscribe +unsubscribe &" +
                            e.patient.settings.prefix + "*"});
  }
}

void judge_version(const Examination& e, std::vector<Finding>& findings) {
  if (e.commands.greeting().knows_flags) return;
  findings.push_back(
      {Severity::note, "redis_version",
       "before Redis 7 a leader cannot renew its term while the server's memory is full",
       "update to Redis 7, or keep used_memory below maxmemory"});
}

void judge_way(const Examination& e, std::vector<Finding>& findings) {
  if (!e.patient.settings.tls_or_near) {
    findings.push_back(
        {Severity::warning, "tls",
         "the connection leaves this machine without TLS: whoever is in between can read the "
         "password and take every election",
         "use rediss:// and the server's tls-port"});
  }
  auto trips = e.trips;
  std::nth_element(trips.begin(), trips.begin() + static_cast<std::ptrdiff_t>(trips.size() / 2),
                   trips.end());
  const Duration trip = trips[trips.size() / 2];
  const Duration limit = e.patient.settings.request_timeout;
  const bool slow = trip > limit / 4;
  findings.push_back({slow ? Severity::warning : Severity::note, "round trip " + milliseconds(trip),
                      slow ? "that is long for a request time-out of " + milliseconds(limit) +
                                 ": a small hiccup may cost a leader its term"
                           : "well below the request time-out of " + milliseconds(limit),
                      slow ? "lengthen the lease, or move closer to the server" : "nothing to do"});
}

void conclude(const Examination& e) {
  std::vector<Finding> findings;
  judge_rights(e, findings);
  judge_memory(e, findings);
  judge_persistence(e, findings);
  judge_replicas(e, findings);
  judge_version(e, findings);
  judge_way(e, findings);
  e.done(std::move(findings));
}

void measure(const ExaminationPtr& e) {
  e->commands.send({"TIME"}, [e](const Result<Delivered>& got) {
    if (!got) return e->done(got.error());
    e->trips.push_back(got->received - got->sent);
    if (e->trips.size() < round_trips) return measure(e);
    conclude(*e);
  });
}

}  // namespace

void examine(Commands& commands, Patient patient,
             std::function<void(Result<std::vector<Finding>>)> done) {
  auto e =
      std::make_shared<Examination>(Examination{commands, std::move(patient), std::move(done)});
  const std::string& probe = e->patient.probe;
  const std::array<Command, asked> questions{
      Command{"INFO", "memory"},
      Command{"INFO", "persistence"},
      Command{"INFO", "replication"},
      Command{"INFO", "server"},
      Command{"CONFIG", "GET", "save"},
      Command{"EVAL", std::string(rights_probe), "3", probe, queue_key(probe), metadata_key(probe)},
      Command{"EVALSHA", std::string(40, '0'), "0"},
      Command{"PUBSUB", "NUMSUB", leader_channel(probe, Duration{})},
      Command{"PUBLISH", leader_channel(probe, Duration{}), ""},
  };
  for (const Command& each : questions) {
    commands.send(each, [e](Result<Delivered> got) {
      if (!got) return e->done(got.error());
      e->replies.push_back(std::move(*std::move(got)).reply);
      if (e->replies.size() == asked) measure(e);
    });
  }
}

}  // namespace conclave::redis
