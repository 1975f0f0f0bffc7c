// A program that a test runs, and that never outlives the test.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace conclave::servers {

// How long anything here may take before it is called a hang.
inline constexpr std::chrono::seconds patience{60};

struct Launch {
  std::vector<std::string> arguments;    // the first is the path of the program
  std::vector<std::string> environment;  // NAME=value, besides what the test has
  std::string output;                    // a file; what the program prints is appended
};

// To be used by one thread at a time. When the test dies, by whatever signal, so does the program.
class Process {
 public:
  explicit Process(const Launch& launch);
  ~Process();  // kills it
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  // How it ended, as waitpid() tells it; nothing while it runs.
  std::optional<int> ended();
  int wait_for_end();  // throws when that does not come

  void kill();    // SIGKILL, and waits for the end
  void pause();   // SIGSTOP; returns when it stands still
  void resume();  // SIGCONT; returns when it runs

 private:
  void await(int options, const char* what);

  pid_t pid_;
  int handle_;  // readable when the process has ended
  bool paused_ = false;
  std::optional<int> status_;
};

// Runs the program to its end. Throws with what it printed unless that was 0.
void run(const Launch& launch);

// What stands in a file, from that position on.
std::string text_of(const std::string& file, std::size_t from = 0);

}  // namespace conclave::servers
