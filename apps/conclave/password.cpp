#include "apps/conclave/password.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace conclave::app {
namespace {

bool hide(char* begin, char* end) {
  if (begin >= end) return false;
  std::fill(begin, end, '*');
  return true;
}

// All between the first colon after the user's name and the last @: a password may contain
// anything.
bool hide_in_authority(char* url) {
  char* const host = std::strstr(url, "://");
  char* const at = std::strrchr(url, '@');
  if (host == nullptr || at == nullptr || at < host) return false;
  char* const colon = std::strchr(host + 3, ':');
  return colon != nullptr && hide(colon + 1, at);
}

bool hide_in_query(char* url) {
  constexpr std::string_view name = "password=";
  bool hidden = false;
  char* rest = std::strchr(url, '?');
  while (rest != nullptr && (rest = std::strstr(rest, name.data())) != nullptr) {
    rest += name.size();
    hidden = hide(rest, rest + std::strcspn(rest, "&#")) || hidden;
  }
  return hidden;
}

}  // namespace

bool hide_password(int count, char** arguments) {
  bool found = false;
  for (int i = 1; i < count; ++i) {
    found = hide_in_authority(arguments[i]) || found;
    found = hide_in_query(arguments[i]) || found;
  }
  return found;
}

}  // namespace conclave::app
