// What a candidate logs, for whatever logger the application has.
//
//   options.log = [](const LogRecord& record) { std::clog << record.message << '\n'; };
//
// The sink is user code: it runs where the candidate's callbacks run, one record at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <conclave/event.hpp>
#include <conclave/export.hpp>

namespace conclave {

enum class LogLevel { debug, info, warning, error };

constexpr std::string_view to_string(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    case LogLevel::error: return "error";
  }
  return "unknown";
}

struct LogRecord {
  LogLevel level{};
  std::string message;  // one sentence
  // The same in parts: event, election, candidate, and term, reason, leader, code where they apply.
  std::vector<std::pair<std::string_view, std::string>> fields;
};

using LogSink = std::function<void(const LogRecord&)>;

[[nodiscard]] CONCLAVE_API LogRecord to_log(const Event& event, std::string_view election,
                                            std::string_view candidate);

}  // namespace conclave
