#include "servers/process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <thread>

#include "servers/stepped_clock.hpp"
#include "servers/temporary_folder.hpp"

namespace conclave::servers {
namespace {

using namespace std::chrono_literals;

class ProcessTest : public testing::Test {
 protected:
  [[nodiscard]] Launch shell(const std::string& script) const {
    return {{"/bin/sh", "-c", script}, {}, folder_.file("output")};
  }
  [[nodiscard]] std::string output() const { return text_of(folder_.file("output")); }

  TemporaryFolder folder_{"process"};
};

// The third field of /proc/PID/stat, after a name that may have blanks.
char state_of(pid_t pid) {
  const auto stat = text_of("/proc/" + std::to_string(pid) + "/stat");
  return stat.at(stat.rfind(')') + 2);
}

TEST_F(ProcessTest, TellsHowItEnded) {
  Process process(shell("exit 3"));
  const int status = process.wait_for_end();
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(process.ended(), status);
}

TEST_F(ProcessTest, KeepsWhatIsPrinted) {
  run(shell("echo one; echo two >&2"));
  EXPECT_EQ(output(), "one\ntwo\n");
}

TEST_F(ProcessTest, ThrowsWhatAFailedProgramPrinted) {
  try {
    run(shell("echo alas; exit 1"));
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& failure) {
    EXPECT_NE(std::string(failure.what()).find("alas"), std::string::npos);
  }
}

TEST_F(ProcessTest, ThrowsWhenThereIsNoSuchProgram) {
  EXPECT_THROW(run({{"/no/such/program"}, {}, folder_.file("output")}), std::runtime_error);
}

TEST_F(ProcessTest, AddsToTheEnvironmentAndReplacesInIt) {
  ASSERT_EQ(::setenv("CONCLAVE_TEST_WORD", "old", 1), 0);
  auto launch = shell("echo $CONCLAVE_TEST_WORD $HERE");
  launch.environment = {"CONCLAVE_TEST_WORD=new", "HERE=there"};
  run(launch);
  EXPECT_EQ(output(), "new there\n");
}

TEST_F(ProcessTest, IsGoneWithItsOwner) {
  pid_t pid = 0;
  {
    const Process process(shell("exec sleep 1000"));
    pid = process.pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST_F(ProcessTest, OutlivesTheThreadThatStartedIt) {
  std::unique_ptr<Process> process;
  std::thread([&] { process = std::make_unique<Process>(shell("exec sleep 1000")); }).join();
  EXPECT_FALSE(process->ended());
  process->pause();  // throws if it has ended
  process->resume();
}

// Runs itself once more, in a process that is killed: what that one started must not stay.
TEST_F(ProcessTest, DiesWithTheTest) {
  if (const char* const inner = ::getenv("CONCLAVE_TEST_PID_FILE"); inner != nullptr) {
    Process process({{"/bin/sh", "-c", "echo $$; exec sleep 1000"}, {}, inner});
    process.wait_for_end();
    return;
  }
  const auto known = folder_.file("pid");
  pid_t grandchild = 0;
  {
    const Process test({{std::filesystem::read_symlink("/proc/self/exe").string(),
                         "--gtest_filter=ProcessTest.DiesWithTheTest"},
                        {"CONCLAVE_TEST_PID_FILE=" + known, "TMPDIR=" + folder_.path()},
                        folder_.file("output")});
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (text_of(known).find('\n') == std::string::npos) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit) << output();
      std::this_thread::sleep_for(2ms);
    }
    grandchild = std::stoi(text_of(known));
    EXPECT_EQ(::kill(grandchild, 0), 0);
  }
  const auto limit = std::chrono::steady_clock::now() + patience;
  // Whoever inherits it may be slow to bury it: a zombie is dead enough.
  while (::kill(grandchild, 0) == 0 && state_of(grandchild) != 'Z') {
    ASSERT_LT(std::chrono::steady_clock::now(), limit) << "it lives on";
    std::this_thread::sleep_for(2ms);
  }
}

TEST_F(ProcessTest, StandsStillWhilePaused) {
  Process process(shell("exec sleep 1000"));
  process.pause();
  EXPECT_EQ(state_of(process.pid()), 'T');
  process.pause();
  process.resume();
  EXPECT_NE(state_of(process.pid()), 'T');
  process.resume();
  process.pause();
  process.kill();
  EXPECT_TRUE(process.ended());
  EXPECT_THROW(process.resume(), std::runtime_error);
}

TEST_F(ProcessTest, HasAClockThatCanBeStepped) {
  SteppedClock clock(folder_.file("clock"));
  clock.step(-24h * 365 * 10);
  EXPECT_EQ(clock.offset(), -24h * 365 * 10);
  auto launch = shell("exec date +%Y");
  launch.environment = clock.environment();
  run(launch);
  run(shell("exec date +%Y"));
  const auto printed = output();
  EXPECT_EQ(std::stoi(printed) + 10, std::stoi(printed.substr(printed.find('\n'))));
}

}  // namespace
}  // namespace conclave::servers
