#include "apps/conclave/family.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>

namespace conclave::app {
namespace {

// The parent of a process, from /proc/PID/stat: PID (NAME) STATE PARENT ... where NAME may contain
// anything.
int parent_of(const std::filesystem::path& folder) {
  std::ifstream file(folder / "stat");
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos || name_end + 4 >= line.size()) return 0;
  int parent = 0;
  const char* const begin = line.data() + name_end + 4;
  std::from_chars(begin, line.data() + line.size(), parent);
  return parent;
}

std::string own_cgroup() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::/")) return "/sys/fs/cgroup" + line.substr(3);
  }
  return {};
}

}  // namespace

std::vector<int> descendants_of(int pid) {
  std::multimap<int, int> children;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    int each = 0;
    const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), each);
    if (failed != std::errc{} || end != name.data() + name.size()) continue;
    children.emplace(parent_of(entry.path()), each);
  }
  std::vector<int> found;
  std::vector<int> open{pid};
  while (!open.empty()) {
    const int parent = open.back();
    open.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto each = first; each != last; ++each) {
      found.push_back(each->second);
      open.push_back(each->second);
    }
  }
  return found;
}

std::string make_cgroup() {
  const std::string own = own_cgroup();
  if (own.empty() || ::access((own + "/cgroup.procs").c_str(), W_OK) != 0) return {};
  std::string folder = own + "/conclave-" + std::to_string(::getpid());
  if (::mkdir(folder.c_str(), 0755) != 0) return {};
  if (::access((folder + "/cgroup.kill").c_str(), W_OK) == 0) return folder;
  ::rmdir(folder.c_str());
  return {};
}

void kill_cgroup(const std::string& folder) {
  if (!folder.empty()) std::ofstream(folder + "/cgroup.kill") << '1';
}

void remove_cgroup(const std::string& folder) {
  if (!folder.empty()) ::rmdir(folder.c_str());
}

}  // namespace conclave::app
