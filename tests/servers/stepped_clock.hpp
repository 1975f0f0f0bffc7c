// The wall clock of a process that a test starts, to be stepped while it runs. It moves that
// process alone, and leaves its monotonic clocks as they are.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace conclave::servers {

class SteppedClock {
 public:
  explicit SteppedClock(std::string file);  // makes the file
  ~SteppedClock();
  SteppedClock(const SteppedClock&) = delete;
  SteppedClock& operator=(const SteppedClock&) = delete;

  // What a process needs in its environment to have this clock.
  [[nodiscard]] std::vector<std::string> environment() const;

  // From now on the clock is so much later, or earlier, than it was. Any thread.
  void step(std::chrono::nanoseconds by);
  [[nodiscard]] std::chrono::nanoseconds offset() const;

 private:
  std::string file_;
  std::int64_t* offset_;
};

}  // namespace conclave::servers
