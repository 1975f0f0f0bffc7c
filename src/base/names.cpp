#include <conclave/names.hpp>

#include <cstdint>
#include <string>

namespace conclave {
namespace {

bool is_continuation(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// The length of the UTF-8 sequence at the front, or 0 when there is none: overlong forms,
// surrogates and what lies beyond U+10FFFF are refused, since two spellings of one name would be
// two elections.
std::size_t sequence_length(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const std::size_t length = lead < 0xC2   ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second >= 0xA0;
  const bool beyond = lead == 0xF4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

std::optional<std::size_t> first_bad_byte(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

// Those of ASCII, and those of Latin-1 as UTF-8 has them.
std::optional<std::size_t> first_control(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto here = static_cast<unsigned char>(text[at]);
    if (here < 0x20 || here == 0x7F) return at;
    if (here == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0) return at;
  }
  return std::nullopt;
}

std::optional<Error> check_text(const std::string& field, std::string_view text,
                                std::size_t limit) {
  if (text.size() > limit) {
    return invalid_argument(field + " is " + std::to_string(text.size()) + " bytes long: at most " +
                            std::to_string(limit) + " are allowed; shorten it");
  }
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    return invalid_argument(field + " has a NUL at byte " + std::to_string(nul) +
                            ": remove it, since not every store can keep one");
  }
  if (const auto bad = first_bad_byte(text)) {
    return invalid_argument(field + " is not valid UTF-8 at byte " + std::to_string(*bad) +
                            ": encode it as UTF-8");
  }
  return std::nullopt;
}

std::optional<Error> check_name(const std::string& field, std::string_view text, std::size_t limit,
                                const char* fix) {
  if (text.empty()) return invalid_argument(field + " is empty: " + fix);
  if (auto error = check_text(field, text, limit)) return error;
  if (const auto control = first_control(text)) {
    return invalid_argument(field + " has a control character at byte " + std::to_string(*control) +
                            ": remove it, since it would garble logs and terminals");
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> check_election_name(std::string_view name) {
  return check_name("election name", name, max_election_name,
                    "give the election a name that all its candidates share");
}

std::optional<Error> check_candidate_id(std::string_view id) {
  return check_name("candidate id", id, max_candidate_id,
                    "give each candidate an id of its own, or leave it out for a random one");
}

std::optional<Error> check_metadata(std::string_view metadata) {
  return check_text("metadata", metadata, max_metadata);
}

}  // namespace conclave
