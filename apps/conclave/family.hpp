// Whoever descends from a process, and the control group that holds them together where the kernel
// lets us make one.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace conclave::app {

// All living processes below `root`, whatever group or session they have moved to, and all of the
// process group, if it is not 0. Not those of `except`, but whoever descends from them.
[[nodiscard]] std::vector<int> family_of(int root, int group,
                                         std::initializer_list<int> except = {});

// SIGKILL for all of them and for the control group of `keeper`. True when nobody was left.
bool kill_family(int root, int group, int keeper, std::initializer_list<int> except = {});

// A control group below our own, named after a process; empty where we have no right to it, or
// where it cannot be killed as a whole. The others do nothing when there is none.
[[nodiscard]] std::string make_cgroup(int keeper);
void kill_cgroup(int keeper);
void remove_cgroup(int keeper);

}  // namespace conclave::app
