#include "apps/conclave/executable.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <sstream>

#include "apps/conclave/exit_codes.hpp"

namespace conclave::app {
namespace {

bool is_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool can_execute(const std::string& path) {
  return is_file(path) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::variant<std::string, CannotRun> find_executable(const std::string& command,
                                                     const char* path_variable) {
  if (command.find('/') != std::string::npos) {
    if (can_execute(command)) return command;
    if (::access(command.c_str(), F_OK) != 0) {
      return CannotRun{not_found, command + ": there is no such file: give the path of a program"};
    }
    return CannotRun{not_executable,
                     command + (is_file(command) ? ": is not executable: chmod +x it"
                                                 : ": is not a file: give the path of a program")};
  }
  std::istringstream folders(path_variable != nullptr ? path_variable : "/usr/bin:/bin");
  std::string found;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = (folder.empty() ? "." : folder) + "/" + command;
    if (can_execute(path)) return path;
    if (found.empty() && is_file(path)) found = path;
  }
  if (!found.empty()) {
    return CannotRun{not_executable, found + ": is not executable: chmod +x it"};
  }
  return CannotRun{not_found, command + ": no such command is in PATH: give its path"};
}

}  // namespace conclave::app
