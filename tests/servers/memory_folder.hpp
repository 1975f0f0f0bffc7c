// A folder of many files that goes with its owner, in memory where there is enough of it.
#pragma once

#include <string>

#include "servers/temporary_folder.hpp"

namespace conclave::servers {

// A disk's file system takes a second to make what PostgreSQL needs, if as much has just been
// removed. It is used where TMPDIR asks for it, and without a large /dev/shm. What a test that was
// killed has left in memory is removed by the next test.
class MemoryFolder {
 public:
  explicit MemoryFolder(const std::string& purpose, bool on_disk = false);
  ~MemoryFolder();
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return folder_.path(); }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

 private:
  TemporaryFolder folder_;
  int owner_;  // a file in it that is locked as long as we live
};

}  // namespace conclave::servers
