#include "servers/postgres_template.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <system_error>

#include "servers/process.hpp"
#include "servers/temporary_folder.hpp"
#include "servers/unprivileged.hpp"

namespace conclave::servers {
namespace {

namespace fs = std::filesystem;

void initialize(const TemporaryFolder& folder) {
  give_to_unprivileged(folder.path());
  run({unprivileged({postgres_program("initdb"), "--no-sync", "--auth=trust", "--username=conclave",
                     "--encoding=UTF8", "--locale=C", "--wal-segsize=1",
                     "--pgdata=" + folder.file("data")}),
       {"LC_ALL=C", "TZ=UTC"},
       folder.file("log")});
}

// To the disk, so that not even a crash of the machine leaves half a template.
void sync_files_of(const fs::path& folder) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0 || ::syncfs(file) != 0) {
    throw std::system_error(errno, std::generic_category(), folder);
  }
  ::close(file);
}

// Several processes may do this at once: each makes its own, and the first to be ready wins.
void make_template(const fs::path& result) {
  const TemporaryFolder made("initdb");
  initialize(made);
  fs::create_directories(result.parent_path());
  std::string own = result.string() + "-XXXXXX";
  if (::mkdtemp(own.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), own);
  }
  fs::copy(made.file("data"), own, fs::copy_options::recursive);
  sync_files_of(own);
  std::error_code lost;
  fs::rename(own, result, lost);
  if (!lost) return;
  fs::remove_all(own);
  if (!fs::exists(result)) throw std::system_error(lost, result);
}

}  // namespace

std::string postgres_program(const std::string& name) {
  return std::string(CONCLAVE_POSTGRES_PROGRAMS) + "/" + name;
}

void make_postgres_data(const std::string& folder) {
  static std::mutex one_at_a_time;
  const fs::path ready = CONCLAVE_POSTGRES_TEMPLATE;
  {
    const std::lock_guard lock(one_at_a_time);
    if (!fs::exists(ready)) make_template(ready);
  }
  fs::copy(ready, folder, fs::copy_options::recursive);
  fs::permissions(folder, fs::perms::owner_all);
  give_all_to_unprivileged(folder);
}

}  // namespace conclave::servers
