#include "apps/conclave/family.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>

namespace conclave::app {
namespace {

struct Relative {
  int pid = 0;
  int parent = 0;
  int group = 0;
  bool dead = false;  // but not waited for
  std::uint64_t started = 0;

  [[nodiscard]] Identity identity() const { return {pid, started}; }
};

// From /proc/PID/stat: PID (NAME) STATE PARENT GROUP ... STARTED ... where NAME may contain
// anything.
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
  std::string skipped;
  for (int between = 6; between < 22; ++between) rest >> skipped;  // as proc(5) numbers them
  if (!(rest >> found.started)) return std::nullopt;
  return found;
}

std::vector<Relative> all_processes() {
  std::vector<Relative> all;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    if (const auto one = read_relative(entry.path())) all.push_back(*one);
  }
  return all;
}

// Whoever is below `root`; a stranger hides all that is below it.
std::vector<Relative> below(int root, const std::vector<Relative>& all,
                            const Strangers& strangers) {
  std::multimap<int, Relative> children;
  for (const Relative& one : all) children.emplace(one.parent, one);
  std::vector<Relative> found;
  std::vector<int> open{root};
  while (!open.empty()) {
    const auto [first, last] = children.equal_range(open.back());
    open.pop_back();
    for (auto each = first; each != last; ++each) {
      const Relative& one = each->second;
      if (std::find(strangers.begin(), strangers.end(), one.identity()) != strangers.end())
        continue;
      found.push_back(one);
      open.push_back(one.pid);
    }
  }
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

Strangers descendants_of(int root) {
  Strangers found;
  for (const Relative& one : below(root, all_processes(), {})) found.push_back(one.identity());
  return found;
}

bool kill_family(int root, int group, int keeper, std::initializer_list<int> except,
                 const Strangers& strangers) {
  if (group > 0) ::kill(-group, SIGKILL);  // at one stroke, whoever is still there
  kill_cgroup(keeper);
  const std::vector<Relative> all = all_processes();
  std::vector<Relative> family = below(root, all, strangers);
  std::copy_if(all.begin(), all.end(), std::back_inserter(family),
               [&](const Relative& one) { return group > 0 && one.group == group; });
  bool nobody = true;
  for (const Relative& one : family) {
    if (one.dead || std::find(except.begin(), except.end(), one.pid) != except.end()) continue;
    ::kill(one.pid, SIGKILL);
    nobody = false;
  }
  return nobody;
}

std::string make_cgroup(int keeper) {
  std::string folder = cgroup_of(keeper);
  if (folder.empty()) return {};
  // One that is there is ours: of the run before, or of a keeper that had our number and was
  // killed.
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return {};
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
