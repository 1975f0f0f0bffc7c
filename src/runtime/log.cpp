#include <conclave/log.hpp>

namespace conclave {
namespace {

LogLevel level_of(const Event& event) {
  switch (event.kind) {
    case EventKind::extended: return LogLevel::debug;
    case EventKind::jeopardy: return LogLevel::warning;
    case EventKind::lost:
      return event.reason == LossReason::resigned || event.reason == LossReason::stopped ||
                     event.reason == LossReason::term_limit
                 ? LogLevel::info
                 : LogLevel::warning;
    case EventKind::error:
      return event.error && event.error->retryable ? LogLevel::warning : LogLevel::error;
    default: return LogLevel::info;
  }
}

std::string message_of(const Event& event) {
  const std::string term = "term " + std::to_string(event.term.value);
  const std::string reason =
      event.reason ? ": " + std::string(to_string(*event.reason)) : std::string{};
  switch (event.kind) {
    case EventKind::started: return "started as a candidate";
    case EventKind::follower: return "is a follower";
    case EventKind::elected: return "became leader, " + term;
    case EventKind::extended: return "renewed " + term;
    case EventKind::jeopardy: return "is still leader of " + term + ", but a renewal failed";
    case EventKind::stopping: return "is giving up " + term + reason;
    case EventKind::lost: return "lost leadership, " + term + reason;
    case EventKind::leader_changed:
      return event.leader.empty() ? "nobody leads" : event.leader + " leads, " + term;
    case EventKind::error: return event.error ? event.error->message : "an error";
    case EventKind::stopped: return "stopped";
  }
  return "unknown";
}

}  // namespace

LogRecord to_log(const Event& event, std::string_view election, std::string_view candidate) {
  LogRecord record{level_of(event), message_of(event), {}};
  const auto add = [&record](std::string_view name, std::string_view value) {
    record.fields.emplace_back(name, value);
  };
  add("event", to_string(event.kind));
  add("election", election);
  add("candidate", candidate);
  if (event.term.exists()) add("term", std::to_string(event.term.value));
  if (event.reason) add("reason", to_string(*event.reason));
  if (event.kind == EventKind::leader_changed) add("leader", event.leader);
  if (event.error) add("code", to_string(event.error->code));
  return record;
}

}  // namespace conclave
