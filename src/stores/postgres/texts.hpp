// How values are written for the server: arrays, attempts, times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <conclave/store.hpp>

namespace conclave::postgres {

// "{"a","b",NULL}", whatever the elements contain.
class Array {
 public:
  void add(std::string_view element);
  void add(std::optional<std::int64_t> number);
  [[nodiscard]] std::string text() const { return "{" + elements_ + "}"; }

 private:
  std::string elements_;
};

[[nodiscard]] std::string to_text(const Attempt& attempt);
[[nodiscard]] std::optional<Attempt> parse_attempt(std::string_view text);

// Microseconds, as the server keeps them.
[[nodiscard]] std::int64_t micros(Duration length) noexcept;
[[nodiscard]] Duration from_micros(std::int64_t number) noexcept;
// For its settings: rounded up.
[[nodiscard]] std::string in_milliseconds(Duration length);

[[nodiscard]] std::optional<Vacancy> parse_vacancy(std::string_view text);

// The channel on which an election's changes are told: 63 bytes at most, whatever its name.
[[nodiscard]] std::string channel_of(std::string_view table, std::string_view election);

}  // namespace conclave::postgres
