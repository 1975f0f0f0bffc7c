// Says who leads.
#include <array>
#include <chrono>
#include <ctime>

#include <nlohmann/json.hpp>

#include <conclave/admin.hpp>

#include "apps/conclave/clock.hpp"
#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/verbs.hpp"

namespace conclave::app {
namespace {

// How long ago the leader was last heard of, by the server's clock where it has one.
std::optional<double> silence_of(const Record& record) {
  if (!record.renewed || !record.server_time) return std::nullopt;
  return seconds(*record.server_time - *record.renewed);
}

// Since when it leads, as people write it: 2026-01-31T08:15:00Z.
std::string date(WallTime when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

double seconds_since(WallTime when) {
  return seconds(std::max<Duration>(std::chrono::system_clock::now() - when, Duration::zero()));
}

std::string json_of(const std::string& election, const Inspection& found) {
  nlohmann::ordered_json line;
  line["election"] = election;
  line["ended"] = found.ended;
  line["last_term"] = found.last_term.value;
  line["leader"] = nullptr;
  if (found.leader) {
    const Record& record = *found.leader;
    line["leader"] = record.leader;
    line["term"] = record.term.value;
    line["metadata"] = record.metadata;
    line["lease"] = seconds(record.lease);
    if (record.granted) {
      line["since"] = date(*record.granted);
      line["age"] = seconds_since(*record.granted);
    }
    if (const auto silence = silence_of(record)) line["last_heard"] = *silence;
  } else if (found.vacancy) {
    line["vacancy"] = std::string(to_string(*found.vacancy));
  }
  auto& candidates = line["candidates"] = nlohmann::ordered_json::array();
  for (const Standing& each : found.candidates) {
    candidates.push_back({{"candidate", each.candidate}, {"place", each.place}});
  }
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string words_of(const std::string& election, const Inspection& found) {
  std::string text = printable(election) + ": ";
  if (!found.leader) {
    text += found.ended ? "was ended" : "nobody leads";
    if (found.last_term.exists())
      text += "; the last term was " + std::to_string(found.last_term.value);
    return text;
  }
  const Record& record = *found.leader;
  text += printable(record.leader) + " leads, term " + std::to_string(record.term.value);
  if (record.granted) {
    text += ", since " + date(*record.granted) + " (" + human(seconds_since(*record.granted)) + ")";
  }
  if (const auto silence = silence_of(record))
    text += ", last heard of " + human(*silence) + " ago";
  if (!record.metadata.empty()) text += "\n  " + printable(record.metadata);
  for (const Standing& each : found.candidates) {
    text += "\n  " + std::to_string(each.place) + ". in line: " + printable(each.candidate);
  }
  return text;
}

}  // namespace

int status(const StatusArguments& arguments) {
  const auto store = open(arguments.store.url, arguments.store.options);
  const Result<Inspection> found = inspect(*store, arguments.election);
  if (!found) {
    complain(found.error().message);
    return failed;
  }
  const int said = say_all(arguments.json ? json_of(arguments.election, *found)
                                          : words_of(arguments.election, *found));
  if (said != ok) return said;
  return found->leader ? ok : nobody_leads;
}

}  // namespace conclave::app
