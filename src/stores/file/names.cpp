#include "stores/file/names.hpp"

namespace conclave::file {
namespace {

constexpr std::string_view file_suffix = ".election";
constexpr std::string_view folder_suffix = ".part";
constexpr std::size_t longest_file_name = 255;  // of Linux, in bytes
constexpr std::size_t folder_piece = 200;

bool stands_for_itself(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::string encode(std::string_view name) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text;
  for (const char c : name) {
    if (stands_for_itself(c)) {
      text += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += '%';
    text += digits[byte / 16];
    text += digits[byte % 16];
  }
  return text;
}

}  // namespace

std::string relative_path(std::string_view election) {
  std::string path;
  std::string rest = encode(election);
  while (rest.size() + file_suffix.size() > longest_file_name) {
    path += rest.substr(0, folder_piece);
    path += folder_suffix;
    path += '/';
    rest.erase(0, folder_piece);
  }
  path += rest;
  path += file_suffix;
  return path;
}

}  // namespace conclave::file
