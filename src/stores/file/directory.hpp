// The directory of a file store: where it is, whether it will do, and what a check finds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <conclave/result.hpp>
#include <conclave/store.hpp>

namespace conclave::file {

enum class Medium {
  local,    // locks and data are this machine's, and outlive a reboot
  memory,   // the same, until the reboot
  layer,    // of a container: others do not see it, and it goes with the container
  network,  // other machines may write there too, and their locks are not the kernel's word
};

struct FileSystem {
  std::uint64_t magic = 0;  // as statfs() names it
  Medium medium{};
  std::string_view name{};
};

// By its magic number; what is not known counts as local.
[[nodiscard]] FileSystem file_system(std::uint64_t magic) noexcept;
[[nodiscard]] Result<FileSystem> file_system_of(const std::string& directory);

// Why that directory cannot be used on such a file system.
[[nodiscard]] std::optional<Error> unsuitable(const std::string& directory, const FileSystem& on,
                                              bool force);

// Makes the directory where it is missing, and gives back its absolute path. An empty one is the
// default. Everything that can be wrong with it is found here.
[[nodiscard]] Result<std::string> prepare_directory(std::string directory, bool force);

[[nodiscard]] Result<std::vector<Finding>> check_directory(const std::string& directory);

}  // namespace conclave::file
