#include "stores/file/opener.hpp"

#include <array>
#include <stdexcept>

#include <conclave/file.hpp>

namespace conclave::stores {
namespace {

// What stands between // and the next slash is a host. This one has only files of its own.
std::optional<Error> check_no_host(const net::Url& url) {
  if (url.user || url.password || url.port) {
    return invalid_argument("file: takes neither user nor port: write file:" + url.path);
  }
  if (url.host.empty() || url.host == "localhost") return std::nullopt;
  return invalid_argument("file: knows no host \"" + url.host + "\": write file:///" + url.host +
                          url.path + " for an absolute path, file:" + url.host + url.path +
                          " for a relative one");
}

constexpr std::array<std::string_view, 1> file_options{"force"};

Result<bool> force_of(const net::Url& url) {
  const auto option = url.query.find("force");
  if (option == url.query.end() || option->second == "false") return false;
  if (option->second == "true") return true;
  return invalid_argument("force: \"" + option->second + "\" is neither true nor false");
}

Result<std::shared_ptr<Store>> open_file(net::Url& url, const StoreOptions& options) {
  if (auto error = check_no_host(url)) return *error;
  const Result<bool> force = force_of(url);
  if (!force) return force.error();
  FileOptions file;
  file.directory = url.path;
  file.force = *force;
  file.lease = options.lease.value_or(file.lease);
  try {
    return make_file_store(std::move(file));
  } catch (const std::exception& failed) {
    return invalid_argument(failed.what());
  }
}

}  // namespace

const net::Opener file_opener{"file", file_options, open_file};

}  // namespace conclave::stores
