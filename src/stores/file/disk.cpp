#include "stores/file/disk.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>

namespace conclave::file {
namespace {

constexpr mode_t directory_mode = 0700;
constexpr mode_t file_mode = 0600;

struct Remedy {
  int number;
  ErrorCode code;
  bool retryable;
  const char* fix;
};

// What a person can do about it.
constexpr Remedy remedies[] = {
    {EACCES, ErrorCode::denied, false,
     "run all candidates as the user who owns it, or choose a directory of your own"},
    {EPERM, ErrorCode::denied, false,
     "run all candidates as the user who owns it, or choose a directory of your own"},
    {EROFS, ErrorCode::denied, false, "choose a directory on a file system that is writable"},
    {ENOSPC, ErrorCode::unavailable, true, "make room on the file system"},
    {EDQUOT, ErrorCode::unavailable, true, "raise the user's quota, or make room"},
    {EFBIG, ErrorCode::unavailable, true, "raise the limit on the size of files (ulimit -f)"},
    {EMFILE, ErrorCode::unavailable, true, "raise the limit on open files (ulimit -n)"},
    {ENFILE, ErrorCode::unavailable, true, "raise the machine's limit on open files (fs.file-max)"},
    {EIO, ErrorCode::unavailable, true, "look at the disk: the kernel's log says more"},
    {ENOTDIR, ErrorCode::invalid_argument, false,
     "a part of the path is a file: choose another directory, or move that file away"},
    {ENOENT, ErrorCode::unavailable, true, "choose a directory that can be made"},
    {EEXIST, ErrorCode::invalid_argument, false,
     "a file stands in the way: choose another directory, or move that file away"},
    {EISDIR, ErrorCode::corrupt, false, "a directory stands where a file should be: move it away"},
    {ELOOP, ErrorCode::denied, false, "a symbolic link stands where a file should be: remove it"},
    {ENAMETOOLONG, ErrorCode::invalid_argument, false, "choose a directory with a shorter path"},
    {ENOLCK, ErrorCode::unsupported, false, "choose a directory on a local file system"},
    {EOPNOTSUPP, ErrorCode::unsupported, false, "choose a directory on a local file system"},
    {EINVAL, ErrorCode::unsupported, false, "choose a directory on a local file system"},
};

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// So that a name in it survives a power failure.
std::optional<Error> sync_directory(const std::string& path) {
  const auto directory = open_file(path, O_RDONLY | O_DIRECTORY);
  if (!directory) return directory.error();
  if (::fsync(directory->get()) == 0) return std::nullopt;
  return system_error("cannot be synced", path, errno);
}

std::string temporary_name(const std::string& folder) {
  std::array<unsigned char, 8> random{};
  if (::getrandom(random.data(), random.size(), 0) < 0) random[0] = 1;  // O_EXCL decides anyway
  std::string name = folder + "/.new-";
  for (const unsigned each : random) {
    constexpr std::string_view digits = "0123456789abcdef";
    name += digits[each / 16];
    name += digits[each % 16];
  }
  return name;
}

// Gives the finished file its name, unless there is one of that name.
int publish(const std::string& temporary, const std::string& path) {
  if (::link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST) return 0;
  // Some file systems have no links.
  constexpr unsigned no_replace = RENAME_NOREPLACE;
  const bool renamed =
      ::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), no_replace) == 0;
  return renamed || errno == EEXIST ? 0 : errno;
}

flock whole_lock() {
  flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Error system_error(const std::string& what, const std::string& path, int number) {
  Error error{ErrorCode::unavailable,
              path + " " + what + ": " + std::generic_category().message(number), true, false};
  for (const Remedy& each : remedies) {
    if (each.number != number) continue;
    error.code = each.code;
    error.retryable = each.retryable;
    error.message += std::string("; ") + each.fix;
  }
  return error;
}

Result<net::Descriptor> open_file(const std::string& path, int flags) {
  int failed = 0;
  auto file = net::Descriptor::opened_by([&] {
    // A directory may be a link, an election's file may not; nor do we wait for who reads a pipe.
    const int no_link = (flags & O_DIRECTORY) != 0 ? 0 : O_NOFOLLOW;
    const int opened = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | no_link, file_mode);
    failed = opened < 0 ? errno : 0;
    return opened;
  });
  if (failed != 0 && failed != ENOENT) return system_error("cannot be opened", path, failed);
  return file;
}

std::optional<Identity> identity_of(int descriptor) noexcept {
  struct stat found {};
  if (::fstat(descriptor, &found) != 0) return std::nullopt;
  return Identity{found.st_dev, found.st_ino};
}

std::optional<Identity> identity_of(const std::string& path) noexcept {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return std::nullopt;
  return Identity{found.st_dev, found.st_ino};
}

int write_at(int descriptor, std::span<const std::byte> bytes, std::size_t offset) {
  while (!bytes.empty()) {
    const auto written =
        ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::size_t>(written);
  }
  return 0;
}

std::optional<std::size_t> read_at(int descriptor, std::span<std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto got =
        ::pread(descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

Result<bool> try_lock(int descriptor, const std::string& path) {
  flock lock = whole_lock();
  if (::fcntl(descriptor, F_OFD_SETLK, &lock) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  return system_error("cannot be locked", path, errno);
}

void unlock(int descriptor) noexcept {
  flock lock = whole_lock();
  lock.l_type = F_UNLCK;
  ::fcntl(descriptor, F_OFD_SETLK, &lock);
}

Result<bool> is_locked(int descriptor, const std::string& path) {
  flock lock = whole_lock();
  if (::fcntl(descriptor, F_OFD_GETLK, &lock) != 0) {
    return system_error("cannot be asked for its lock", path, errno);
  }
  return lock.l_type != F_UNLCK;
}

std::optional<Error> create_file(const std::string& path, std::span<const std::byte> content) {
  const std::string folder = folder_of(path);
  if (auto error = make_directories(folder)) return error;
  const std::string temporary = temporary_name(folder);
  net::Descriptor file(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, file_mode));
  if (!file) return system_error("cannot be created", path, errno);
  // The process may have an umask of its own.
  int failed = ::fchmod(file.get(), file_mode) == 0 ? 0 : errno;
  if (failed == 0) failed = write_at(file.get(), content, 0);
  if (failed == 0 && ::fsync(file.get()) != 0) failed = errno;
  if (failed == 0) failed = publish(temporary, path);
  ::unlink(temporary.c_str());
  if (failed != 0) return system_error("cannot be created", path, failed);
  return sync_directory(folder);
}

std::optional<Error> make_directories(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) return std::nullopt;
  const std::string parent = folder_of(path);
  if (parent != path && parent != ".") {
    if (auto error = make_directories(parent)) return error;
  }
  if (::mkdir(path.c_str(), directory_mode) == 0) {
    // Where the parent cannot be read, the new name is durable when the kernel likes.
    static_cast<void>(sync_directory(parent));
    return std::nullopt;
  }
  const int failed = errno;
  // Somebody else may have been faster.
  if (::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) return std::nullopt;
  return system_error("cannot be made a directory", path, failed);
}

}  // namespace conclave::file
