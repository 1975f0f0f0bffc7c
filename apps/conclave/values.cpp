#include "apps/conclave/values.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>

#include <conclave/open.hpp>

#include "apps/conclave/table.hpp"

namespace conclave::app {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool is_option(std::string_view name) {
  for (const OptionSpec& each : options()) {
    if (each.name == name && name != "config") return true;
  }
  return false;
}

}  // namespace

std::string Values::text(std::string_view option, std::string_view fallback) const {
  const auto found = texts_.find(option);
  return found != texts_.end() ? found->second : std::string(fallback);
}

void Values::refuse(std::string sentence) {
  if (!error_) error_ = invalid_argument(std::move(sentence));
}

bool Values::flag(std::string_view option) {
  const std::string value = text(option, "false");
  if (value == "true" || value == "1" || value == "yes") return true;
  if (value != "false" && value != "0" && value != "no" && !value.empty()) {
    refuse("--" + std::string(option) + " is a switch: \"" + value +
           "\" is neither true nor false");
  }
  return false;
}

std::optional<Duration> Values::duration(std::string_view option) {
  if (!has(option)) return std::nullopt;
  const Result<Duration> value = parse_duration("--" + std::string(option), text(option));
  if (value) return *value;
  refuse(value.error().message);
  return std::nullopt;
}

int Values::number(std::string_view option, int fallback) {
  if (!has(option)) return fallback;
  const std::string value = text(option);
  int number = 0;
  const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (failed != std::errc{} || end != value.data() + value.size() || number < 1 ||
      number > 1'000'000) {
    refuse("--" + std::string(option) + ": \"" + value + "\" is not a number from 1 to 1000000");
    return fallback;
  }
  return number;
}

void Values::read_file(const std::string& path) {
  std::ifstream file(path);
  std::error_code ignored;
  if (!file || std::filesystem::is_directory(path, ignored)) {
    return refuse("--config: " + path + " cannot be read: is the path right, and may you read it?");
  }
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    const std::string where = path + " line " + std::to_string(number);
    const auto equals = line.find('=');
    const std::string name = trimmed(line.substr(0, equals));
    if (equals == std::string::npos) return refuse(where + ": write it as name = value");
    if (!is_option(name))
      return refuse(where + ": there is no option " + name + ": conclave man lists them");
    if (has(name)) continue;
    set(name, trimmed(line.substr(equals + 1)));
    from_file_.insert(name);
  }
}

}  // namespace conclave::app
