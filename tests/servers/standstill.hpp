// Processes of a server that are not children of the test: found, stopped, and waited for.
#pragma once

#include <sys/types.h>

#include <vector>

namespace conclave::servers {

std::vector<pid_t> children_of(pid_t parent);

// False also of one that has ended and is not buried yet.
bool alive(pid_t process);

// Processes that stand still (SIGSTOP) as long as this lives. When the test dies meanwhile, they
// are killed: who stands still cannot notice that.
class Standstill {
 public:
  explicit Standstill(std::vector<pid_t> processes);  // returns when they all stand still
  ~Standstill();                                      // SIGCONT
  Standstill(const Standstill&) = delete;
  Standstill& operator=(const Standstill&) = delete;

  [[nodiscard]] bool holds(pid_t process) const;

 private:
  void watch();

  std::vector<pid_t> processes_;
  pid_t watcher_ = -1;
  int life_ = -1;  // the watcher reads its end when the test dies
};

// Ends these at once (SIGKILL) and waits until they are gone. They may be gone already.
void kill_all(const std::vector<pid_t>& processes);

}  // namespace conclave::servers
