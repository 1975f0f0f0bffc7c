#include "stores/file/directory.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <conclave/file.hpp>

#include "stores/file/disk.hpp"

namespace conclave {
namespace file {
namespace {

// The numbers that linux/magic.h does not have are those of the file systems' own sources.
constexpr FileSystem known[] = {
    {NFS_SUPER_MAGIC, Medium::network, "NFS"},
    {SMB_SUPER_MAGIC, Medium::network, "SMB"},
    {0xFF534D42, Medium::network, "CIFS"},
    {0xFE534D42, Medium::network, "SMB2"},
    {0x65735546, Medium::network, "FUSE"},  // also virtiofs, sshfs, GlusterFS, s3fs
    {V9FS_MAGIC, Medium::network, "9p"},
    {AFS_SUPER_MAGIC, Medium::network, "AFS"},
    {0x6B414653, Medium::network, "AFS"},
    {CODA_SUPER_MAGIC, Medium::network, "Coda"},
    {NCP_SUPER_MAGIC, Medium::network, "NCP"},
    {0x00C36400, Medium::network, "CephFS"},
    {0x0BD00BD0, Medium::network, "Lustre"},
    {0x01161970, Medium::network, "GFS2"},
    {OCFS2_SUPER_MAGIC, Medium::network, "OCFS2"},
    {0x47504653, Medium::network, "GPFS"},
    {0x19830326, Medium::network, "BeeGFS"},
    {0x20030528, Medium::network, "OrangeFS"},
    {0xAAD7AAEA, Medium::network, "PanFS"},
    {0x61636673, Medium::network, "ACFS"},
    {0xBEEFDEAD, Medium::network, "StorNext"},
    {0x786F4256, Medium::network, "a shared folder of VirtualBox"},
    {0xBACBACBC, Medium::network, "a shared folder of VMware"},
    {0x7C7C6673, Medium::network, "a shared folder of Parallels"},
    {TMPFS_MAGIC, Medium::memory, "tmpfs"},
    {RAMFS_MAGIC, Medium::memory, "ramfs"},
    {OVERLAYFS_SUPER_MAGIC, Medium::layer, "overlayfs"},
};

constexpr const char* other_stores = "use a store with a server";

Error bad_directory(const std::string& sentence) { return invalid_argument(sentence); }

}  // namespace

FileSystem file_system(std::uint64_t magic) noexcept {
  for (const FileSystem& each : known) {
    if (each.magic == magic) return each;
  }
  return {magic, Medium::local, "a local file system"};
}

Result<FileSystem> file_system_of(const std::string& directory) {
  struct statfs found {};
  if (::statfs(directory.c_str(), &found) != 0) {
    return system_error("cannot be asked for its file system", directory, errno);
  }
  // Signed on some machines, and then extended.
  return file_system(static_cast<std::uint32_t>(found.f_type));
}

std::optional<Error> unsuitable(const std::string& directory, const FileSystem& on, bool force) {
  if (on.medium != Medium::network || force) return std::nullopt;
  return bad_directory("directory: " + directory + " is on " + std::string(on.name) +
                       ", where locks are not the kernel's word: choose a local directory, " +
                       other_stores +
                       " among several machines, or set force when only this machine ever uses it");
}

Result<std::string> prepare_directory(std::string directory, bool force) {
  if (directory.find('\0') != std::string::npos) {
    return bad_directory("directory: it contains a NUL byte: remove it");
  }
  if (directory.empty()) directory = default_file_directory();
  if (directory.empty()) {
    return bad_directory(
        "directory: none is given, and this user has no home: name one, such as "
        "file:/var/lib/myservice");
  }
  std::error_code failed;
  // A later chdir() changes nothing.
  directory = std::filesystem::absolute(directory, failed).lexically_normal().string();
  if (failed) return bad_directory("directory: " + failed.message() + ": give an absolute path");
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  if (auto error = make_directories(directory))
    return bad_directory("directory: " + error->message);
  if (::faccessat(AT_FDCWD, directory.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
    return bad_directory("directory: " +
                         system_error("cannot be written to", directory, errno).message);
  }
  const auto found = file_system_of(directory);
  if (!found) return bad_directory("directory: " + found.error().message);
  if (auto error = unsuitable(directory, *found, force)) return *error;
  return directory;
}

namespace {

// What is said of each medium.
std::vector<Finding> findings_of(const std::string& directory, const FileSystem& found) {
  const std::string setting = "file:" + directory;
  const std::string where = "the directory is on " + std::string(found.name);
  switch (found.medium) {
    case Medium::local: return {};
    case Medium::memory:
      return {{Severity::warning, setting,
               where + ", which is empty after a reboot: terms grow then by the wall clock alone",
               "choose a directory on a disk, such as the default one (file:)"}};
    case Medium::layer:
      return {{Severity::warning, setting,
               where + ": in a container, other containers do not see it, and it goes with it",
               "mount one volume of this machine into all containers that take part"}};
    case Medium::network:
      return {{Severity::danger, setting,
               where + ", and was forced: candidates on two machines may both be given the place",
               std::string("choose a local directory, or ") + other_stores}};
  }
  return {};
}

}  // namespace

Result<std::vector<Finding>> check_directory(const std::string& directory) {
  const std::string setting = "file:" + directory;
  std::vector<Finding> findings = {
      {Severity::note, setting,
       "candidates on this machine see each other, and no others; one that is stopped (SIGSTOP) "
       "keeps its place until it dies",
       std::string(other_stores) + " when more than one machine takes part"}};
  const auto found = file_system_of(directory);
  if (!found) return found.error();
  for (Finding& each : findings_of(directory, *found)) findings.push_back(std::move(each));
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) {
    return system_error("cannot be looked at", directory, errno);
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    findings.push_back({(status.st_mode & S_IWOTH) != 0 ? Severity::danger : Severity::warning,
                        setting, "others may write to the directory, and so elect themselves",
                        "chmod 700 " + directory});
  }
  return findings;
}

}  // namespace file

std::string default_file_directory() {
  const char* const state = ::secure_getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/conclave";
  const char* const home = ::secure_getenv("HOME");
  std::string base = home != nullptr && *home == '/' ? home : "";
  if (base.empty()) {
    passwd entry{};
    passwd* found = nullptr;
    std::string buffer(16384, '\0');
    ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
    if (found != nullptr && *found->pw_dir == '/') base = found->pw_dir;
  }
  return base.empty() ? base : base + "/.local/state/conclave";
}

}  // namespace conclave
