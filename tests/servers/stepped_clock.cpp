#include "servers/stepped_clock.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <system_error>
#include <utility>

namespace conclave::servers {
namespace {

std::int64_t* mapped(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* memory = MAP_FAILED;
  if (file >= 0 && ::ftruncate(file, sizeof(std::int64_t)) == 0) {
    memory = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int error = errno;
  if (file >= 0) ::close(file);
  if (memory == MAP_FAILED) throw std::system_error(error, std::generic_category(), path);
  return static_cast<std::int64_t*>(memory);
}

}  // namespace

SteppedClock::SteppedClock(std::string file) : file_(std::move(file)), offset_(mapped(file_)) {}

SteppedClock::~SteppedClock() { ::munmap(offset_, sizeof *offset_); }

std::vector<std::string> SteppedClock::environment() const {
  return {"LD_PRELOAD=" CONCLAVE_CLOCK_SHIM, "CONCLAVE_CLOCK_OFFSET=" + file_};
}

void SteppedClock::step(std::chrono::nanoseconds by) {
  std::atomic_ref(*offset_).fetch_add(by.count());
}

std::chrono::nanoseconds SteppedClock::offset() const {
  return std::chrono::nanoseconds{std::atomic_ref(*offset_).load()};
}

}  // namespace conclave::servers
