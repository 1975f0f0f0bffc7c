#include "net/fork.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

namespace conclave::net {
namespace {

// One bit for each descriptor, up to the kernel's usual limit. Pages that nobody touches cost
// nothing.
constexpr std::size_t bits = 64;
constexpr std::size_t most_descriptors = std::size_t{1} << 20U;
constinit std::array<std::atomic<std::uint64_t>, most_descriptors / bits> guarded{};
constinit std::atomic<std::size_t> words_used{0};
constinit std::atomic<std::uint64_t> generation{1};
constinit std::atomic<std::uint64_t> forks{0};
constinit std::mutex no_fork;

std::uint64_t bit_of(int descriptor) {
  return std::uint64_t{1} << (static_cast<std::size_t>(descriptor) % bits);
}

void before_fork() {
  forks.fetch_add(1);
  no_fork.lock();
}
void after_fork_in_parent() { no_fork.unlock(); }

// Runs in the child, where only async-signal-safe things may happen.
void after_fork_in_child() {
  no_fork.unlock();  // the thread that forked had locked it, and is the only one here
  generation.fetch_add(1);
  const std::size_t used = words_used.load();
  for (std::size_t word = 0; word < used; ++word) {
    std::uint64_t left = guarded[word].exchange(0);
    for (std::size_t bit = 0; left != 0; ++bit, left >>= 1U) {
      if ((left & 1U) != 0) ::close(static_cast<int>(word * bits + bit));
    }
  }
}

void install_handler() {
  [[maybe_unused]] static const int installed =
      ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace

ForkMark::ForkMark() noexcept : generation_(generation.load()) { install_handler(); }

bool ForkMark::in_child() const noexcept {
  return generation.load(std::memory_order_relaxed) != generation_;
}

std::uint64_t forks_begun() noexcept {
  install_handler();
  return forks.load();
}

NoFork::NoFork() noexcept {
  install_handler();
  no_fork.lock();
}

NoFork::~NoFork() { no_fork.unlock(); }

void guard_from_fork(int descriptor) noexcept {
  install_handler();
  const std::size_t word = static_cast<std::size_t>(descriptor) / bits;
  if (word >= guarded.size()) return;
  std::size_t used = words_used.load();
  while (used <= word && !words_used.compare_exchange_weak(used, word + 1)) {
  }
  guarded[word].fetch_or(bit_of(descriptor));
}

bool release_from_fork(int descriptor) noexcept {
  const std::size_t word = static_cast<std::size_t>(descriptor) / bits;
  if (word >= guarded.size()) return true;
  return (guarded[word].fetch_and(~bit_of(descriptor)) & bit_of(descriptor)) != 0;
}

Descriptor::Descriptor(int descriptor) noexcept : descriptor_(descriptor) {
  if (descriptor_ >= 0) guard_from_fork(descriptor_);
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), process_(other.process_) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this == &other) return *this;
  reset();
  descriptor_ = std::exchange(other.descriptor_, -1);
  process_ = other.process_;
  return *this;
}

void Descriptor::reset() noexcept {
  const int descriptor = std::exchange(descriptor_, -1);
  // In a child it is closed already, and by now its number may belong to somebody else.
  if (descriptor < 0 || process_.in_child()) return;
  const NoFork meanwhile;
  release_from_fork(descriptor);
  ::close(descriptor);
}

}  // namespace conclave::net
