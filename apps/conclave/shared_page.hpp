// What the processes of `conclave run` know of each other without asking.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <new>
#include <system_error>

#include "apps/conclave/clock.hpp"

namespace conclave::app {

// Times are nanoseconds of CLOCK_BOOTTIME.
struct SharedPage {
  std::atomic<std::int64_t> front_beat{0};
  std::atomic<std::int64_t> keeper_beat{0};  // 0: opens the store, or closes it, however long
  std::atomic<std::int64_t> kill_at{0};      // the family is to be killed then; 0: there is none
  std::atomic<std::int64_t> lease{3'000'000'000};
  std::atomic<std::int32_t> group{0};     // the command's
  std::atomic<std::int32_t> guardian{0};  // its pid
  std::atomic<bool> killed{false};        // at kill_at, by somebody else than the keeper
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// Make it before fork(); all then have it.
inline SharedPage& make_shared_page() {
  void* const page = ::mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "memory could not be shared");
  }
  return *new (page) SharedPage;  // lives as long as the processes
}

// How long another process has been silent while this one ran. A pause of our own, or a sleep of
// the machine, says nothing about the other: of the time between two looks only so much counts.
class Silence {
 public:
  std::int64_t look(std::int64_t beat, std::int64_t most) {
    const std::int64_t now = boot_ns();
    silent_ = beat == beat_ ? silent_ + std::min(now - looked_, most) : 0;
    beat_ = beat;
    looked_ = now;
    return silent_;
  }

 private:
  std::int64_t beat_ = 0;
  std::int64_t looked_ = 0;
  std::int64_t silent_ = 0;
};

}  // namespace conclave::app
