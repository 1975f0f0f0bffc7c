#include "servers/memory_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <system_error>

namespace conclave::servers {
namespace {

namespace fs = std::filesystem;

const std::string memory = "/dev/shm";
constexpr std::uintmax_t enough = 1U << 30U;

bool ours_and_left(const std::string& folder) {
  const int file = ::open((folder + "/owned-by-a-test").c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return false;
  struct stat status {};
  const bool left = ::fstat(file, &status) == 0 && status.st_uid == ::geteuid() &&
                    ::flock(file, LOCK_EX | LOCK_NB) == 0;
  ::close(file);
  return left;
}

void remove_what_was_left() {
  std::error_code ignored;
  for (const auto& each : fs::directory_iterator(memory, ignored)) {
    const auto path = each.path().string();
    if (path.starts_with(memory + "/conclave-") && ours_and_left(path)) {
      fs::remove_all(path, ignored);
    }
  }
}

std::string parent_of_folders(bool on_disk) {
  std::error_code none;
  const auto space = fs::space(memory, none);
  if (on_disk || std::getenv("TMPDIR") != nullptr || none || space.available < enough) {
    return fs::temp_directory_path().string();
  }
  static std::once_flag once;
  std::call_once(once, remove_what_was_left);
  return memory;
}

// Under its name it is locked from the first moment.
int locked_owner(const TemporaryFolder& folder) {
  const auto unnamed = folder.file("to-be-owned");
  const int file = ::open(unnamed.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ::flock(file, LOCK_EX) != 0 ||
      std::rename(unnamed.c_str(), folder.file("owned-by-a-test").c_str()) != 0) {
    throw std::system_error(errno, std::generic_category(), unnamed);
  }
  return file;
}

}  // namespace

MemoryFolder::MemoryFolder(const std::string& purpose, bool on_disk)
    : folder_(purpose, parent_of_folders(on_disk)), owner_(locked_owner(folder_)) {}

MemoryFolder::~MemoryFolder() { ::close(owner_); }

}  // namespace conclave::servers
