// The command as a child: a process group of its own, and everything that comes from it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace conclave::app {

struct ChildSpec {
  std::string path;
  std::vector<std::string> arguments;    // the command's name first
  std::vector<std::string> environment;  // NAME=value
};

class Child {
 public:
  // Runs it. Throws std::system_error when it cannot be executed.
  explicit Child(const ChildSpec& spec);
  ~Child();  // ends the whole family
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] int group() const noexcept { return pid_; }
  [[nodiscard]] int fd() const noexcept { return descriptor_; }  // readable once it has ended

  void send(int signal) const;

  // The exit code as a shell would give it, once the command itself has ended. It is waited for by
  // end_family(): until then nobody else can get its number.
  [[nodiscard]] std::optional<int> ended();

  // SIGKILL for the group, for the control group where there is one, and for whatever has left both
  // but still descends from us; returns when nobody is left.
  void end_family();

 private:
  int pid_ = -1;
  int descriptor_ = -1;
  std::optional<int> exit_code_;
  bool waited_for_ = false;  // then its number may be another's
};

}  // namespace conclave::app
