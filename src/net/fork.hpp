// What a fork() must not take along.
//
// A child after fork() has copies of all descriptors but none of our threads. A copy of a lock's
// descriptor keeps the lock after its holder has died; a copy of a socket keeps a session alive.
// O_CLOEXEC does not help a child that does not exec. So descriptors that carry leadership are
// closed in the child by an atfork handler, and whatever would wait for a thread or a lock asks
// ForkMark first.
//
// The handler needs to know all descriptors of the process, so this table is the one piece of
// global state in the library.
#pragma once

#include <cstdint>

namespace conclave::net {

// Remembers the process in which it was made. One atomic load to ask.
class ForkMark {
 public:
  ForkMark() noexcept;
  [[nodiscard]] bool in_child() const noexcept;  // of a fork that came after this object

 private:
  std::uint64_t generation_;
};

// Owns a descriptor that a forked child must not keep. In the child it is closed before fork()
// returns there, and this object becomes empty by itself.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int descriptor) noexcept;  // negative: none
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;

  [[nodiscard]] int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }
  void reset() noexcept;

 private:
  int descriptor_ = -1;
};

// The same for a descriptor that somebody else owns, such as an Asio stream: from guard() until
// release(), which has to come before it is closed. False when it was closed by a fork already.
void guard_from_fork(int descriptor) noexcept;
bool release_from_fork(int descriptor) noexcept;

}  // namespace conclave::net
