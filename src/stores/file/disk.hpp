// The few calls to the operating system that a place is made of, with errors that name the path.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <conclave/result.hpp>

#include "net/fork.hpp"

namespace conclave::file {

// Which file a path led to. Two paths, or one path at two times, may lead to different ones.
struct Identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  friend constexpr bool operator==(const Identity&, const Identity&) noexcept = default;
};

// The sentence for an errno: what was tried, where, why not, and what to do about it. What somebody
// has to mend first, such as rights, is not retryable.
[[nodiscard]] Error system_error(const std::string& what, const std::string& path, int number);

// An empty descriptor: there is no such file.
[[nodiscard]] Result<net::Descriptor> open_file(const std::string& path, int flags);

[[nodiscard]] std::optional<Identity> identity_of(int descriptor) noexcept;
[[nodiscard]] std::optional<Identity> identity_of(const std::string& path) noexcept;

// All of it, or the errno.
[[nodiscard]] int write_at(int descriptor, std::span<const std::byte> bytes, std::size_t offset);
// As much as there is, or nothing with errno set.
[[nodiscard]] std::optional<std::size_t> read_at(int descriptor, std::span<std::byte> bytes);

// The lock is on one byte, and belongs to the open file: whoever closes that gives it up, and the
// kernel closes the files of the dead. False when somebody else has it.
[[nodiscard]] Result<bool> try_lock(int descriptor, const std::string& path);
void unlock(int descriptor) noexcept;
// Whether somebody has it; asked without taking it, so that looking never disturbs a contender.
[[nodiscard]] Result<bool> is_locked(int descriptor, const std::string& path);

// Puts a new file in its place, whole or not at all, and makes that durable. It is no error when
// somebody else was faster. Makes the folders above it where they are missing.
[[nodiscard]] std::optional<Error> create_file(const std::string& path,
                                               std::span<const std::byte> content);

// As mkdir -p, with mode 0700.
[[nodiscard]] std::optional<Error> make_directories(const std::string& path);

}  // namespace conclave::file
