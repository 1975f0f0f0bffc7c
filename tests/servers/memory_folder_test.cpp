#include "servers/memory_folder.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "servers/process.hpp"

namespace conclave::servers {
namespace {

using namespace std::chrono_literals;

const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();

TEST(MemoryFolder, GoesWithItsOwner) {
  std::string path;
  {
    const MemoryFolder folder("memory-test");
    path = folder.path();
    std::ofstream(folder.file("a")) << "b";
    EXPECT_EQ(text_of(path + "/a"), "b");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(MemoryFolder, IsWhereTmpdirSays) {
  const TemporaryFolder parent("memory-test");
  ASSERT_EQ(::setenv("TMPDIR", parent.path().c_str(), 1), 0);
  const MemoryFolder folder("memory-test");
  ::unsetenv("TMPDIR");
  EXPECT_TRUE(folder.path().starts_with(parent.path() + "/")) << folder.path();
}

// Runs itself twice more: the first is killed, and the second removes what that one left, but not
// what we have.
TEST(MemoryFolder, IsRemovedByTheNextWhenATestWasKilled) {
  if (const char* const told = ::getenv("CONCLAVE_TEST_FOLDER_FILE"); told != nullptr) {
    const MemoryFolder folder("memory-test");
    std::ofstream(told) << folder.path() << std::endl;
    if (::getenv("CONCLAVE_TEST_STAYS") != nullptr) std::this_thread::sleep_for(patience);
    return;
  }
  const TemporaryFolder notes("memory-test");
  const MemoryFolder own("memory-test");
  if (!own.path().starts_with("/dev/shm/")) GTEST_SKIP() << "there is no large /dev/shm";
  const auto told = notes.file("folder");
  Launch launch{{self, "--gtest_filter=MemoryFolder.IsRemoved*"},
                {"CONCLAVE_TEST_FOLDER_FILE=" + told, "CONCLAVE_TEST_STAYS=1"},
                notes.file("output")};
  std::string left;
  {
    const Process killed(launch);
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (!(left = text_of(told)).ends_with('\n')) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit) << text_of(notes.file("output"));
      std::this_thread::sleep_for(2ms);
    }
    left.pop_back();
  }
  EXPECT_TRUE(std::filesystem::exists(left)) << left;
  launch.environment.pop_back();
  run(launch);
  EXPECT_FALSE(std::filesystem::exists(left)) << left;
  EXPECT_TRUE(std::filesystem::exists(own.path()));
}

}  // namespace
}  // namespace conclave::servers
