#include "servers/unprivileged.hpp"

#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace conclave::servers {
namespace {

struct Account {
  uid_t user;
  gid_t group;
};

const Account& account() {
  static const Account found = [] {
    for (const char* const name : {"postgres", "nobody"}) {
      if (const auto* const entry = ::getpwnam(name)) return Account{entry->pw_uid, entry->pw_gid};
    }
    throw std::runtime_error("neither a user postgres nor a user nobody, and root may not run it");
  }();
  return found;
}

bool am_root() { return ::geteuid() == 0; }

}  // namespace

// The kernel forgets who is to die with whom when the user changes, so setpriv says it again.
std::vector<std::string> unprivileged(const std::vector<std::string>& arguments) {
  if (!am_root()) return arguments;
  std::vector<std::string> all{CONCLAVE_SETPRIV,
                               "--reuid=" + std::to_string(account().user),
                               "--regid=" + std::to_string(account().group),
                               "--clear-groups",
                               "--pdeathsig=KILL",
                               "--"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

void give_to_unprivileged(const std::string& path) {
  if (am_root() && ::lchown(path.c_str(), account().user, account().group) != 0) {
    throw std::system_error(errno, std::generic_category(), path);
  }
}

void give_all_to_unprivileged(const std::string& folder) {
  give_to_unprivileged(folder);
  for (const auto& each : std::filesystem::recursive_directory_iterator(folder)) {
    give_to_unprivileged(each.path());
  }
}

}  // namespace conclave::servers
