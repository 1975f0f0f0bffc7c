// A process of a minimal client, and the pipes between it and us.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <conclave/time.hpp>

namespace conclave::app {

class RawProcess {
 public:
  // The process's side.
  class Parent {
   public:
    Parent(int said, int told) : said_(said), told_(told) {}
    void say(Instant at) const;
    void wait() const;                                       // to be told
    [[nodiscard]] int fd() const noexcept { return told_; }  // readable when there is a word

   private:
    int said_;
    int told_;
  };

  // Whatever happens there, it does not unwind the stack of its parent.
  explicit RawProcess(const std::function<void(const Parent&)>& life);
  ~RawProcess();  // SIGKILL, unless it has ended
  RawProcess(const RawProcess&) = delete;
  RawProcess& operator=(const RawProcess&) = delete;

  [[nodiscard]] Instant hear() const;                      // what it says next
  [[nodiscard]] int fd() const noexcept { return said_; }  // readable when it has said something
  void tell() const;
  void kill();

 private:
  int pid_ = -1;
  int said_ = -1;
  int told_ = -1;
};

// "a%20b" is "a b".
[[nodiscard]] std::string unescaped(const std::string& text);

}  // namespace conclave::app
