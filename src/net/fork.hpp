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
#include <utility>

#include <conclave/export.hpp>

namespace conclave::net {

// Remembers the process in which it was made. One atomic load to ask.
class CONCLAVE_API ForkMark {
 public:
  ForkMark() noexcept;
  [[nodiscard]] bool in_child() const noexcept;  // of a fork that came after this object

 private:
  std::uint64_t generation_;
};

// While one lives, fork() waits in all other threads: for the few instructions between opening a
// descriptor and guarding it, or between releasing and closing it, in which a child would get a
// copy that nobody closes. Keep it short, and make no second one meanwhile.
class CONCLAVE_API NoFork {
 public:
  NoFork() noexcept;
  ~NoFork();
  NoFork(const NoFork&) = delete;
  NoFork& operator=(const NoFork&) = delete;
};

// How many forks this process has begun.
[[nodiscard]] CONCLAVE_API std::uint64_t forks_begun() noexcept;

// Owns a descriptor that a forked child must not keep. In the child it is closed before fork()
// returns there, and this object becomes empty by itself.
class CONCLAVE_API Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int descriptor) noexcept;  // negative: none

  // Owns what `open` gives. When a fork() comes between ::open() and the constructor, the child has
  // a copy that nobody closes: then `open` is called again. It may take long, so fork() does not
  // wait for it, unless there are so many that it would never end.
  template <typename Open>
  [[nodiscard]] static Descriptor opened_by(Open open) {
    for (int tries = 0; tries < 8; ++tries) {
      const std::uint64_t before = forks_begun();
      Descriptor opened(open());
      if (!opened || forks_begun() == before) return opened;
    }
    const NoFork meanwhile;
    return Descriptor(open());
  }

  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;

  [[nodiscard]] int get() const noexcept { return process_.in_child() ? -1 : descriptor_; }
  explicit operator bool() const noexcept { return get() >= 0; }
  void reset() noexcept;

 private:
  int descriptor_ = -1;
  ForkMark process_;
};

// The same for a descriptor that somebody else owns, such as an Asio stream: from guard() until
// release(), which has to come before it is closed. False when it was closed by a fork already. In
// a child its number may have a new owner: ask ForkMark before touching it.
CONCLAVE_API void guard_from_fork(int descriptor) noexcept;
CONCLAVE_API bool release_from_fork(int descriptor) noexcept;

// In a forked child: what may hold locked locks, or wait for threads, is not even destroyed.
template <typename Thing>
void leave_alone(Thing thing) {
  [[maybe_unused]] const auto* const leaked = new Thing(std::move(thing));  // NOLINT
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks)

}  // namespace conclave::net
