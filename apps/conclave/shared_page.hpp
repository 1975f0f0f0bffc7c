// What the two processes of `conclave run` know of each other without asking.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <new>
#include <system_error>

namespace conclave::app {

struct SharedPage {
  std::atomic<std::int64_t> beat{0};  // of the front, CLOCK_BOOTTIME in nanoseconds
  std::atomic<std::int64_t> kill_at{
      0};  // when the family has to be dead at the latest; 0: no family
  std::atomic<std::int64_t> lease{3'000'000'000};
  std::atomic<std::int32_t> group{0};  // the command's
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// Make it before fork(); both then have it.
inline SharedPage& make_shared_page() {
  void* const page = ::mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "memory could not be shared");
  }
  return *new (page) SharedPage;  // lives as long as both processes
}

}  // namespace conclave::app
