#include "runtime/json.hpp"

#include <array>
#include <charconv>
#include <cstdio>

namespace conclave::runtime {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      (result += '\\') += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
      result += code.data();
    } else {
      result += c;
    }
  }
  return result + '"';
}

void JsonObject::raw(std::string_view name, std::string_view json) {
  if (!content_.empty()) content_ += ',';
  ((content_ += quoted(name)) += ':') += json;
}

void JsonObject::add(std::string_view name, std::string_view text) { raw(name, quoted(text)); }

void JsonObject::add_seconds(std::string_view name, double seconds) {
  // Not printf: its decimal sign is the locale's.
  std::array<char, 64> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), seconds, std::chars_format::fixed, 6);
  raw(name, {text.data(), static_cast<std::size_t>(end.ptr - text.data())});
}

}  // namespace conclave::runtime
