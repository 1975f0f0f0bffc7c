// The transcript of a run: who did what when, one line each. Off while thousands of seeds run, on
// when one of them is replayed.
#pragma once

#include <string>
#include <vector>

#include <core/output.hpp>

#include "simulation/clocks.hpp"

namespace conclave::sim {

class Trace {
 public:
  void line(Real at, const std::string& text);
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
};

[[nodiscard]] std::string describe(const core::Input& input);
[[nodiscard]] std::string describe(const core::Output& output);

}  // namespace conclave::sim
