// Finds the command before anybody is elected to run it.
#pragma once

#include <string>
#include <variant>

namespace conclave::app {

struct CannotRun {
  int exit_code;
  std::string sentence;
};

// The path to execute, as a shell would find it.
[[nodiscard]] std::variant<std::string, CannotRun> find_executable(const std::string& command,
                                                                   const char* path_variable);

}  // namespace conclave::app
