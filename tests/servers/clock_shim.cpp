// Preloaded into one process, it moves the wall clock of that process by as much as a file says;
// the machine's clock and the monotonic ones stay as they are. See stepped_clock.hpp.
//
// It asks the kernel itself: to look up the C library's functions may allocate, and the allocator
// of Redis reads the clock before it can allocate. libfaketime does not survive that.

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace {

std::int64_t* offset = nullptr;  // nanoseconds; none before the file is mapped

__attribute__((constructor)) void map_the_offset() noexcept {
  const char* const path = ::getenv("CONCLAVE_CLOCK_OFFSET");
  const int file = path != nullptr ? ::open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) ::abort();  // a clock that cannot be stepped would let a test pass that should not
  void* const memory = ::mmap(nullptr, sizeof *offset, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (memory == MAP_FAILED) ::abort();
  offset = static_cast<std::int64_t*>(memory);
}

int shifted(clockid_t clock, timespec* time) noexcept {
  if (::syscall(SYS_clock_gettime, clock, time) != 0) return -1;
  if (offset == nullptr || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return 0;
  constexpr std::int64_t second = 1'000'000'000;
  const auto now = time->tv_sec * second + time->tv_nsec + std::atomic_ref(*offset).load();
  time->tv_sec = now / second;
  time->tv_nsec = now % second;
  return 0;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* time) noexcept {
  return shifted(clock, time);
}

__attribute__((visibility("default"))) int gettimeofday(timeval* time, void* /*zone*/) noexcept {
  timespec now{};
  if (shifted(CLOCK_REALTIME, &now) != 0) return -1;
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

__attribute__((visibility("default"))) time_t time(time_t* result) noexcept {
  timespec now{};
  if (shifted(CLOCK_REALTIME, &now) != 0) return -1;
  if (result != nullptr) *result = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
