#include "stores/file/opener.hpp"

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

Result<bool> take_force(net::Url& url) {
  const auto option = url.query.extract("force");
  if (option.empty() || option.mapped() == "false") return false;
  if (option.mapped() == "true") return true;
  return invalid_argument("force: \"" + option.mapped() + "\" is neither true nor false");
}

Result<std::shared_ptr<Store>> open_file(net::Url& url, const StoreOptions& options) {
  if (auto error = check_no_host(url)) return *error;
  const Result<bool> force = take_force(url);
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

const net::Opener file_opener{"file", open_file};

}  // namespace conclave::stores
