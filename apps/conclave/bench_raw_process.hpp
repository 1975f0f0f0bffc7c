// A process of a minimal client, and the pipes between it and us.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
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

// Three processes that pass a lock on: always the same, of which two wait. Ours are not new either,
// and as many.
class RawPassers {
 public:
  // Each says a word when it is there: the first one holds the lock by then. From then on it says
  // when it has got it, and after it was told to let go, when it was about to.
  using Life = std::function<void(std::size_t number, const RawProcess::Parent&)>;
  explicit RawPassers(const Life& life);

  [[nodiscard]] double hand_over_us();

 private:
  [[nodiscard]] std::size_t quickest_but(std::size_t holder) const;

  std::array<std::unique_ptr<RawProcess>, 3> passers_{};
  std::size_t holder_ = 0;
};

void sleep_until(Instant when);

// "a%20b" is "a b".
[[nodiscard]] std::string unescaped(const std::string& text);

}  // namespace conclave::app
