#include "apps/conclave/family.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

namespace conclave::app {
namespace {

struct Relative {
  int pid = 0;
  int parent = 0;
  int group = 0;
  bool dead = false;  // but not waited for
};

// From /proc/PID/stat: PID (NAME) STATE PARENT GROUP ... where NAME may contain anything.
std::optional<Relative> read_relative(const std::filesystem::path& folder) {
  Relative found;
  const std::string name = folder.filename();
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), found.pid);
  if (failed != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  std::ifstream file(folder / "stat");
  std::string line;
  std::getline(file, line);
  std::istringstream rest(line.substr(std::min(line.rfind(')'), line.size() - 1) + 1));
  char state = 0;
  if (line.empty() || !(rest >> state >> found.parent >> found.group)) return std::nullopt;
  found.dead = state == 'Z' || state == 'X';
  return found;
}

std::string cgroup_of(int keeper) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::/")) {
      return "/sys/fs/cgroup" + line.substr(3) + "/conclave-" + std::to_string(keeper);
    }
  }
  return {};
}

}  // namespace

std::vector<int> family_of(int root, int group, std::initializer_list<int> except) {
  std::multimap<int, Relative> children;
  std::vector<int> found;
  const auto add = [&](const Relative& one) {
    const auto is_it = [&](int pid) { return pid == one.pid; };
    if (one.dead || std::any_of(except.begin(), except.end(), is_it) ||
        std::any_of(found.begin(), found.end(), is_it)) {
      return;
    }
    found.push_back(one.pid);
  };
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const auto one = read_relative(entry.path());
    if (!one) continue;
    children.emplace(one->parent, *one);
    if (group > 0 && one->group == group) add(*one);
  }
  std::vector<int> open{root};
  while (!open.empty()) {
    const auto [first, last] = children.equal_range(open.back());
    open.pop_back();
    for (auto each = first; each != last; ++each) {
      add(each->second);
      open.push_back(each->second.pid);
    }
  }
  return found;
}

bool kill_family(int root, int group, int keeper, std::initializer_list<int> except) {
  if (group > 0) ::kill(-group, SIGKILL);  // at one stroke, whoever is still there
  kill_cgroup(keeper);
  const std::vector<int> family = family_of(root, group, except);
  for (const int pid : family) ::kill(pid, SIGKILL);
  return family.empty();
}

std::string make_cgroup(int keeper) {
  std::string folder = cgroup_of(keeper);
  if (folder.empty() || ::mkdir(folder.c_str(), 0755) != 0) return {};
  if (::access((folder + "/cgroup.kill").c_str(), W_OK) == 0) return folder;
  ::rmdir(folder.c_str());
  return {};
}

void kill_cgroup(int keeper) {
  const std::string folder = cgroup_of(keeper);
  if (!folder.empty()) std::ofstream(folder + "/cgroup.kill") << '1';
}

void remove_cgroup(int keeper) {
  const std::string folder = cgroup_of(keeper);
  if (!folder.empty()) ::rmdir(folder.c_str());
}

}  // namespace conclave::app
