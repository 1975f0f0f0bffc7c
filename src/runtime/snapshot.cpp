#include <conclave/snapshot.hpp>

#include <algorithm>

#include "runtime/json.hpp"

namespace conclave {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

void add(runtime::JsonObject& json, std::string_view name, std::optional<Duration> duration) {
  duration ? json.add_seconds(name, seconds(*duration)) : json.raw(name, "null");
}

}  // namespace

std::string to_json(const Snapshot& snapshot) {
  runtime::JsonObject json;
  json.add("election", snapshot.election);
  json.add("candidate", snapshot.candidate);
  json.add("role", to_string(snapshot.role));
  json.add("is_leader", snapshot.is_leader);
  json.add("term", snapshot.term.value);
  json.add_seconds("lease_remaining", seconds(snapshot.lease_remaining));
  json.add("jeopardy", snapshot.jeopardy);
  json.add("place", std::uint64_t{snapshot.place});
  json.add("leader", snapshot.leader);
  json.add("leader_term", snapshot.leader_term.value);
  add(json, "leader_age", snapshot.leader_age);
  add(json, "last_contact", snapshot.last_contact);
  const Counters& counters = snapshot.counters;
  json.add("terms", counters.terms);
  json.add("transitions", counters.transitions);
  json.add("renewals", counters.renewals);
  json.add("late_renewals", counters.late_renewals);
  json.add("drain_overruns", counters.drain_overruns);
  json.add("callback_overruns", counters.callback_overruns);
  json.add_seconds("leaderless", seconds(counters.leaderless));
  runtime::JsonObject failures;
  for (std::size_t code = 0; code < error_code_count; ++code) {
    if (counters.failures[code] != 0) {
      std::string name(to_string(static_cast<ErrorCode>(code)));
      std::replace(name.begin(), name.end(), ' ', '_');  // as programs have it
      failures.add(name, counters.failures[code]);
    }
  }
  json.raw("failures", failures.text());
  return json.text();
}

}  // namespace conclave
