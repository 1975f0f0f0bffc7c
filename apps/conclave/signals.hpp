// Signals as something to read: blocked in all threads, and taken from a descriptor.
#pragma once

#include <initializer_list>
#include <optional>

namespace conclave::app {

// Make it before the first thread, so that all threads block them.
class Signals {
 public:
  Signals(std::initializer_list<int> signals);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  [[nodiscard]] int fd() const noexcept { return descriptor_; }
  [[nodiscard]] std::optional<int> take() const;

 private:
  int descriptor_ = -1;
};

}  // namespace conclave::app
