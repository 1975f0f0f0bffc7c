// Every state in each of its forms, and every input in each of its kinds, by name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scenario/rig.hpp"

namespace conclave::test {

// Brings a candidate that was just made into a state, and gives the instant when it is there. The
// own term is 7; "other" leads or led term 5 where a state needs another one.
struct Form {
  std::string name;
  std::function<Instant(Rig&)> reach;
};

// An input; it may answer the latest call of the machine.
struct Kind {
  std::string name;
  std::function<core::Input(const Rig&)> make;
};

[[nodiscard]] std::vector<Form> all_forms();
[[nodiscard]] std::vector<Kind> all_kinds();

}  // namespace conclave::test
