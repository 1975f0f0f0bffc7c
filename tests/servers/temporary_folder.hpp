// A folder that goes with its owner.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace conclave::servers {

class TemporaryFolder {
 public:
  explicit TemporaryFolder(
      const std::string& purpose,
      const std::string& parent = std::filesystem::temp_directory_path().string())
      : path_(parent + "/conclave-" + purpose + "-XXXXXX") {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "no temporary folder " + path_);
    }
  }
  ~TemporaryFolder() {
    // Whoever makes a file in it meanwhile, such as a server that has just been killed, keeps it
    // from going: then once more, and it is told what is left.
    std::error_code failed;
    for (int tries = 0; tries < 10; ++tries) {
      std::filesystem::remove_all(path_, failed);
      if (!failed) return;
    }
    std::cerr << path_ << " is left behind: " << failed.message() << '\n';
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace conclave::servers
