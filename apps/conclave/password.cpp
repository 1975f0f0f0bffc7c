#include "apps/conclave/password.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include <conclave/open.hpp>

namespace conclave::app {
namespace {

bool hide(char* begin, char* end) {
  if (begin >= end) return false;
  std::fill(begin, end, '*');
  return true;
}

// All between the first colon after the user's name and the last @: a password may contain
// anything. Whoever writes redis://secret@host means a password, too.
bool hide_in_authority(char* url) {
  char* const host = std::strstr(url, "://");
  char* const at = std::strrchr(url, '@');
  if (host == nullptr || at == nullptr || at < host) return false;
  char* const colon = std::strchr(host + 3, ':');
  if (colon != nullptr && colon < at) return hide(colon + 1, at);
  const bool is_user = std::strstr(at, "password") != nullptr;
  return !is_user && std::strstr(url, "redis") != nullptr && hide(host + 3, at);
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

bool is_file(const std::string& path, struct stat& status) {
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// The path in ?password_file=...; empty when there is none.
std::string password_file_in(std::string_view url) {
  constexpr std::string_view name = "password_file=";
  const auto at = url.find(name, std::min(url.find('?'), url.size()));
  if (at == std::string_view::npos) return {};
  const std::string_view value = url.substr(at + name.size(), url.find('&', at) - at - name.size());
  std::string path;
  for (std::size_t i = 0; i < value.size(); ++i) {
    int byte = static_cast<unsigned char>(value[i]);
    if (value[i] == '%' && i + 2 < value.size()) {
      std::from_chars(&value[i + 1], &value[i + 3], byte, 16);
      i += 2;
    }
    path += static_cast<char>(byte);
  }
  return path;
}

}  // namespace

void hide_store_in_environment() {
  constexpr std::string_view name = "CONCLAVE_STORE=";
  for (char** each = environ; *each != nullptr; ++each) {
    if (std::string_view(*each).starts_with(name)) {
      hide(*each + name.size(), *each + std::strlen(*each));
    }
  }
}

std::vector<std::string> exposed_files(const StoreArguments& store) {
  struct stat status {};
  std::vector<std::string> files;
  if (!store.file.empty()) {
    if (!is_file(store.file, status)) return {};  // a pipe: whoever wrote it has been told
    if (public_url(store.url) != store.url) files.push_back(store.file);
  }
  files.push_back(password_file_in(store.url));
  std::vector<std::string> sentences;
  for (const std::string& path : files) {
    if (path.empty() || !is_file(path, status) || (status.st_mode & 077) == 0) continue;
    sentences.push_back(path + " holds a password, and others than its owner have rights to it: " +
                        "chmod 600 " + path);
  }
  return sentences;
}

bool hide_password(int count, char** arguments) {
  bool found = false;
  for (int i = 1; i < count; ++i) {
    found = hide_in_authority(arguments[i]) || found;
    found = hide_in_query(arguments[i]) || found;
  }
  return found;
}

}  // namespace conclave::app
