// Whoever descends from a process, and the control group that holds them together where the kernel
// lets us make one.
#pragma once

#include <string>
#include <vector>

namespace conclave::app {

// All processes below that one, whatever group or session they have moved to.
[[nodiscard]] std::vector<int> descendants_of(int pid);

// A control group below our own; empty where we have no right to it, or where it cannot be killed
// as a whole. The others do nothing when it is empty.
[[nodiscard]] std::string make_cgroup();
void kill_cgroup(const std::string& folder);
void remove_cgroup(const std::string& folder);

}  // namespace conclave::app
