#include "stores/postgres/texts.hpp"

#include <array>
#include <charconv>

namespace conclave::postgres {
namespace {

constexpr std::size_t digits_of_word = 16;

std::string hexadecimal(std::uint64_t number) {
  std::string text(digits_of_word, '0');
  for (std::size_t i = digits_of_word; i-- > 0; number >>= 4U) {
    text[i] = "0123456789abcdef"[number & 15U];
  }
  return text;
}

std::optional<std::uint64_t> parse_word(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

void Array::add(std::string_view element) {
  if (!elements_.empty()) elements_ += ',';
  elements_ += '"';
  for (const char each : element) {
    if (each == '"' || each == '\\') elements_ += '\\';
    elements_ += each;
  }
  elements_ += '"';
}

void Array::add(std::optional<std::int64_t> number) {
  if (!elements_.empty()) elements_ += ',';
  elements_ += number ? std::to_string(*number) : "NULL";
}

std::string to_text(const Attempt& attempt) {
  return hexadecimal(attempt.high) + hexadecimal(attempt.low);
}

std::optional<Attempt> parse_attempt(std::string_view text) {
  if (text.size() != 2 * digits_of_word) return std::nullopt;
  const auto high = parse_word(text.substr(0, digits_of_word));
  const auto low = parse_word(text.substr(digits_of_word));
  if (!high || !low) return std::nullopt;
  return Attempt{*high, *low};
}

std::int64_t micros(Duration length) noexcept {
  return std::chrono::duration_cast<std::chrono::microseconds>(length).count();
}

Duration from_micros(std::int64_t number) noexcept { return std::chrono::microseconds{number}; }

std::string in_milliseconds(Duration length) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(length).count());
}

std::optional<Vacancy> parse_vacancy(std::string_view text) {
  for (const Vacancy each :
       {Vacancy::absent, Vacancy::released, Vacancy::abandoned, Vacancy::expired, Vacancy::ended}) {
    if (text == to_string(each)) return each;
  }
  return std::nullopt;
}

// FNV-1a: two elections that share a channel are told of each other's changes, and look in vain.
std::string channel_of(std::string_view table, std::string_view election) {
  std::uint64_t hash = 14695981039346656037U;
  for (const std::string_view part : {table, std::string_view("\n"), election}) {
    for (const char each : part) {
      hash = (hash ^ static_cast<unsigned char>(each)) * 1099511628211U;
    }
  }
  return "conclave_" + hexadecimal(hash);
}

}  // namespace conclave::postgres
