#include "apps/conclave/event_lines.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include <conclave/log.hpp>

#include "apps/conclave/output.hpp"

namespace conclave::app {

namespace {

// As programs have it.
std::string identifier(std::string_view words) {
  std::string one(words);
  std::replace(one.begin(), one.end(), ' ', '_');
  return one;
}

}  // namespace

std::string json_line(const Event& event, const std::string& election, const std::string& candidate,
                      const Repeats& repeats) {
  nlohmann::ordered_json line;
  line["event"] = identifier(to_string(event.kind));
  line["at_ns"] = event.at.time_since_epoch().count();
  line["election"] = election;
  line["candidate"] = candidate;
  if (event.term.exists()) line["term"] = event.term.value;
  if (event.valid_until != Instant{}) {
    line["valid_until_ns"] = event.valid_until.time_since_epoch().count();
  }
  if (event.reason) line["reason"] = identifier(to_string(*event.reason));
  if (event.kind == EventKind::leader_changed) line["leader"] = event.leader;
  if (event.error) {
    line["message"] = event.error->message;
    line["code"] = identifier(to_string(event.error->code));
    line["retryable"] = event.error->retryable;
    if (repeats.times > 1) line["times"] = repeats.times;
  }
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string time_of_day() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(
                          now - std::chrono::system_clock::from_time_t(seconds))
                          .count();
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%02d:%02d:%02d.%03d", parts.tm_hour, parts.tm_min,
                parts.tm_sec, static_cast<int>(millis));
  return text.data();
}

std::string readable_line(const Event& event, const Repeats& repeats) {
  return time_of_day() + " " +
         printable(event.error ? error_sentence(*event.error, repeats)
                               : to_log(event, "", "").message);
}

}  // namespace conclave::app
