#include "stores/redis/doctor.hpp"

#include <algorithm>
#include <array>

#include "stores/redis/examination.hpp"
#include "stores/redis/replies.hpp"
#include "stores/redis/rights.hpp"

namespace conclave::redis {
namespace {

constexpr std::size_t round_trips = 9;

using ExaminationPtr = std::shared_ptr<Examination>;

std::string shown(Duration duration) {
  const auto micros = std::chrono::ceil<std::chrono::microseconds>(duration).count();
  if (micros < 1000) return std::to_string(micros) + " µs";
  return std::to_string(micros / 1000) + "." + std::to_string(micros / 100 % 10) + " ms";
}

bool is_error(const RedisReply& reply) { return std::holds_alternative<RedisError>(reply.value); }

std::uint64_t number_in(const RedisReply& info, std::string_view name) {
  return parse_number(info_line(info, name).value_or("")).value_or(0);
}

void judge_eviction(const Examination& e, std::vector<Finding>& findings) {
  const auto policy = info_line(e.replies[Examination::memory], "maxmemory_policy").value_or("");
  const bool is_limited = number_in(e.replies[Examination::memory], "maxmemory") > 0;
  if (!policy.starts_with("allkeys-")) return;
  findings.push_back(
      {is_limited ? Severity::danger : Severity::note, "maxmemory-policy " + policy,
       is_limited ? "the server deletes records of elections when its memory is full"
                  : "as soon as a maxmemory is set, the server deletes records of elections",
       "set maxmemory-policy to noeviction or to one of volatile-*, or use a server of "
       "its own"});
}

void judge_room(const Examination& e, std::vector<Finding>& findings) {
  const std::uint64_t limit = number_in(e.replies[Examination::memory], "maxmemory");
  const std::uint64_t used = number_in(e.replies[Examination::memory], "used_memory");
  if (limit == 0 || used < limit / 10 * 9) return;
  const bool goes_on = e.commands.greeting().knows_flags;
  findings.push_back(
      {goes_on ? Severity::warning : Severity::danger,
       "used_memory " + std::to_string(used) + " of maxmemory " + std::to_string(limit),
       goes_on ? "the memory is nearly full: elections go on, but little else will"
               : "the memory is nearly full: then no leader can renew its term",
       "raise maxmemory, or delete what is not needed"});
}

void judge_persistence(const Examination& e, std::vector<Finding>& findings) {
  const RedisReply& info = e.replies[Examination::persistence];
  if (info_line(info, "rdb_last_bgsave_status").value_or("ok") != "ok") {
    findings.push_back({Severity::warning, "rdb_last_bgsave_status",
                        "the last save failed; by default the server then refuses all writes",
                        "see its log, and give it room on its disk"});
  }
  if (is_error(info) || info_line(info, "aof_enabled").value_or("0") == "1") return;
  const RedisReply& saving = e.replies[Examination::saving];
  const auto* const pair = elements_in(saving);
  const std::string* const rules =
      pair != nullptr && pair->size() > 1 ? text_in((*pair)[1]) : nullptr;
  if (is_error(saving)) {
    findings.push_back({Severity::note, "not looked at: config",
                        "whether the server keeps anything on disk cannot be seen",
                        grant(e.patient.settings.user, "+config|get") +
                            " while doctor looks, or see `save` in its configuration"});
  } else if (rules != nullptr && rules->empty()) {
    findings.push_back(
        {Severity::note, "save, appendonly",
         "the server keeps nothing on disk: when it is restarted, leaders write their records "
         "anew; where a leader is gone, too, the next one leads after up to two leases",
         "set appendonly yes where ended elections must stay ended after a restart"});
  }
}

void judge_replicas(const Examination& e, std::vector<Finding>& findings) {
  const auto count =
      info_line(e.replies[Examination::replication], "connected_slaves").value_or("0");
  if (count == "0") return;
  findings.push_back(
      {Severity::warning, "connected_slaves " + count,
       "a replica that is promoted may not have heard of the last grant: then two lead for "
       "up to a lease, and only the term tells them apart",
       "fence with the term, or use a server without automatic promotion"});
}

void judge_sight(const Examination& e, std::vector<Finding>& findings) {
  if (!is_error(e.replies[Examination::memory])) return;
  findings.push_back({Severity::note, "not looked at: info",
                      "memory, persistence and replicas of the server cannot be seen",
                      grant(e.patient.settings.user, "+info")});
}

void judge_version(const Examination& e, std::vector<Finding>& findings) {
  if (e.commands.greeting().knows_flags) return;
  findings.push_back(
      {Severity::note, "redis_version",
       "before Redis 7 a leader cannot renew its term while the server's memory is full",
       "update to Redis 7, or keep used_memory below maxmemory"});
}

// Whether anybody is let in without a password, as far as can be seen: those who may not ask it
// know at least of themselves.
bool is_open(const Examination& e) {
  const auto* const user = elements_in(e.replies[Examination::users]);
  if (user == nullptr || user->size() < 2) return !e.patient.settings.has_password;
  const auto* const flags = elements_in((*user)[1]);
  const auto has = [&](std::string_view flag) {
    return flags != nullptr && std::any_of(flags->begin(), flags->end(), [&](const auto& each) {
             const std::string* const text = text_in(each);
             return text != nullptr && *text == flag;
           });
  };
  return has("on") && has("nopass");
}

void judge_way(const Examination& e, std::vector<Finding>& findings) {
  const StoreSettings& settings = e.patient.settings;
  if (settings.is_near) return;
  if (!settings.has_tls) {
    findings.push_back(
        {Severity::warning, "tls",
         "the connection leaves this machine without TLS: whoever is in between can read the "
         "password and take every election",
         "use rediss:// and the server's tls-port"});
  } else if (!settings.verifies) {
    findings.push_back(
        {Severity::warning, "skip_verify",
         "the connection leaves this machine, and whoever answers is believed: whoever is in "
         "between can read the password and take every election",
         "leave skip_verify out, and set ca_file to the authority of the server's certificate"});
  }
  if (is_open(e)) {
    findings.push_back({Severity::warning, "no password",
                        "the default user needs none: whoever reaches the server can take every "
                        "election",
                        "set requirepass, or ACL SETUSER default off and a user with a password"});
  }
}

void judge_speed(const Examination& e, std::vector<Finding>& findings) {
  auto trips = e.trips;
  std::nth_element(trips.begin(), trips.begin() + static_cast<std::ptrdiff_t>(trips.size() / 2),
                   trips.end());
  const Duration trip = trips[trips.size() / 2];
  const Duration limit = e.patient.settings.request_timeout;
  const bool slow = trip > limit / 4;
  findings.push_back({slow ? Severity::warning : Severity::note, "round trip " + shown(trip),
                      slow ? "that is long for a request time-out of " + shown(limit) +
                                 ": a small hiccup may cost a leader its term"
                           : "well below the request time-out of " + shown(limit),
                      slow ? "lengthen the lease, or move closer to the server" : "nothing to do"});
}

void conclude(const Examination& e) {
  std::vector<Finding> findings;
  judge_rights(e, findings);
  judge_eviction(e, findings);
  judge_room(e, findings);
  judge_persistence(e, findings);
  judge_replicas(e, findings);
  judge_version(e, findings);
  judge_way(e, findings);
  judge_sight(e, findings);
  judge_speed(e, findings);
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
  const std::array<Command, Examination::asked> questions{
      Command{"INFO", "memory"},
      Command{"INFO", "persistence"},
      Command{"INFO", "replication"},
      Command{"INFO", "server"},
      Command{"CONFIG", "GET", "save"},
      Command{"ACL", "GETUSER", "default"},
      ask_for_rights(probe, commands.greeting().knows_flags),
      Command{"EVALSHA", std::string(40, '0'), "0"},
      Command{"PUBSUB", "NUMSUB", leader_channel(probe, Duration{})},
      Command{"PUBLISH", leader_channel(probe, Duration{}), ""},
  };
  for (const Command& each : questions) {
    commands.send(each, [e](Result<Delivered> got) {
      if (!got) return e->done(got.error());
      e->replies.push_back(std::move(*std::move(got)).reply);
      if (e->replies.size() == Examination::asked) measure(e);
    });
  }
}

}  // namespace conclave::redis
