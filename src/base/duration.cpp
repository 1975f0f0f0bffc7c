#include <conclave/timing.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace conclave {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

}  // namespace

Result<Duration> parse_duration(std::string_view name, std::string_view text) {
  const auto refused = [&] {
    return invalid_argument(
        std::string(name) + ": \"" + std::string(text) +
        "\" is not a duration: write a number and a unit, such as 3s, 250ms or 1m30s");
  };
  constexpr std::pair<std::string_view, double> units[] = {{"ns", 1},  {"us", 1e3}, {"ms", 1e6},
                                                           {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
  double total = 0;
  std::string_view rest = text;
  if (rest.empty()) return refused();
  while (!rest.empty()) {
    double number = 0;
    if (!is_digit(rest.front())) return refused();
    const auto [end, failed] =
        std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
    if (failed != std::errc{}) return refused();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    const auto letters = std::find_if_not(rest.begin(), rest.end(), is_letter) - rest.begin();
    const std::string_view word = rest.substr(0, static_cast<std::size_t>(letters));
    const auto* const unit = std::find_if(std::begin(units), std::end(units),
                                          [&](const auto& each) { return each.first == word; });
    if (unit == std::end(units)) return refused();
    total += number * unit->second;
    rest.remove_prefix(word.size());
  }
  if (total >= static_cast<double>(std::numeric_limits<std::int64_t>::max())) {
    return invalid_argument(std::string(name) + ": \"" + std::string(text) +
                            "\" is longer than any duration can be, 292 years");
  }
  return Duration{static_cast<std::int64_t>(std::llround(total))};
}

}  // namespace conclave
