#include "net/server_options.hpp"

#include <filesystem>
#include <fstream>

#include <conclave/timing.hpp>

namespace conclave::net {
namespace {

constexpr Duration shortest_timeout = std::chrono::milliseconds{1};
constexpr std::uintmax_t longest_password = 1 << 20;

Error bad_password_file(const std::string& path, const std::string& what) {
  return {ErrorCode::denied, "password_file: " + path + " " + what, true, false};
}

// Nothing when it cannot be read. Only a regular file: reading from a pipe could wait for ever, and
// the next connection would find nothing in it.
std::optional<std::string> content_of(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return std::nullopt;
  const auto size = std::filesystem::file_size(path, failed);
  std::ifstream file(path, std::ios::binary);
  if (failed || size > longest_password || !file) return std::nullopt;
  std::string content(size, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(file.gcount()));
  return file.bad() ? std::nullopt : std::optional(std::move(content));
}

}  // namespace

std::optional<Error> check_times(Duration lease, Duration request_timeout) {
  TimingOptions timing;
  timing.lease = lease;
  if (const auto resolved = resolve_timing(timing); !resolved) return resolved.error();
  if (request_timeout < Duration::zero()) {
    return invalid_argument(
        "request_timeout: it is negative: leave it out for an eighth of the lease");
  }
  if (request_timeout > Duration::zero() && request_timeout < shortest_timeout) {
    return invalid_argument(
        "request_timeout: it is shorter than 1 ms, and no server answers so soon: lengthen it");
  }
  if (request_timeout > lease / 2) {
    return invalid_argument(
        "request_timeout: it is longer than half the lease, and a lost reply would cost the leader "
        "its term: shorten it, or lengthen the lease");
  }
  return std::nullopt;
}

Duration effective_request_timeout(Duration given, Duration lease) {
  return given > Duration::zero() ? given : lease / 8;
}

std::optional<Error> check_sources(const std::string& password, const std::string& password_file,
                                   bool has_credentials) {
  const int sources =
      (password.empty() ? 0 : 1) + (password_file.empty() ? 0 : 1) + (has_credentials ? 1 : 0);
  if (sources <= 1) return std::nullopt;
  return invalid_argument(
      "password: it is given twice: choose one of password, password_file and credentials");
}

Result<std::string> password_in_file(const std::string& path) {
  auto text = content_of(path);
  if (!text) {
    return bad_password_file(
        path,
        "cannot be read: check path and rights, and that it is a regular file of at most 1 MiB");
  }
  text->erase(text->find_last_not_of("\r\n") + 1);
  if (text->empty()) return bad_password_file(path, "is empty: write the password into it");
  return *std::move(text);
}

Error no_credentials(const std::string& where, const std::string& why) {
  return {ErrorCode::denied, "the application gave no credentials for " + where + ": " + why, true,
          false};
}

}  // namespace conclave::net
