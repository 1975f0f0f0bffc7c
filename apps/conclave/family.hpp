// Whoever descends from a process, and the control group that holds them together where the kernel
// lets us make one.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace conclave::app {

// A process for all time: the kernel gives its number to another one later.
struct Identity {
  int pid = 0;
  std::uint64_t started = 0;  // ticks since boot

  bool operator==(const Identity&) const = default;
};

// Who is below a process but not of the command's family: neither they nor their descendants are.
using Strangers = std::vector<Identity>;

// Whoever is below `root` now.
[[nodiscard]] Strangers descendants_of(int root);

// SIGKILL for all living processes below `root`, whatever group or session they have moved to, for
// all of the process group, if it is not 0, and for the control group of `keeper`. Not for those of
// `except`, but for whoever descends from them. True when nobody was left.
bool kill_family(int root, int group, int keeper, std::initializer_list<int> except = {},
                 const Strangers& strangers = {});

// A control group below our own, named after a process; empty where we have no right to it, or
// where it cannot be killed as a whole. The others do nothing when there is none.
[[nodiscard]] std::string make_cgroup(int keeper);
void kill_cgroup(int keeper);
void remove_cgroup(int keeper);

}  // namespace conclave::app
