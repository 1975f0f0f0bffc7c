#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "scenario/transcript.hpp"

namespace conclave::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> scenarios() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(CONCLAVE_SCENARIO_DIR)) {
    if (entry.path().extension() == ".scenario") found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string read(const fs::path& file) {
  std::ostringstream content;
  content << std::ifstream(file).rdbuf();
  return content.str();
}

class Scenario : public testing::TestWithParam<fs::path> {};

TEST_P(Scenario, PlaysAsWritten) {
  const std::string written = read(GetParam());
  const std::string played = play(written);
  if (std::getenv("CONCLAVE_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(GetParam()) << played;
    return;
  }
  EXPECT_EQ(written, played) << "If the new text is right, run again with "
                                "CONCLAVE_UPDATE_GOLDEN=1 and read the diff of "
                             << GetParam().filename();
}

INSTANTIATE_TEST_SUITE_P(Files, Scenario, testing::ValuesIn(scenarios()),
                         [](const auto& file) { return file.param.stem().string(); });

TEST(Transcript, NamesTheLineItDoesNotUnderstand) {
  try {
    (void)play("# title\n@ 0ms start\n@ 1ms campaign granted term 7, mislaid\n");
    FAIL() << "it was understood";
  } catch (const std::runtime_error& problem) {
    EXPECT_NE(std::string(problem.what()).find("line 3"), std::string::npos) << problem.what();
  }
}

TEST(Transcript, ThrowsAwayWhatTheMachineIsSaidToDo) {
  EXPECT_EQ(play("@ 0ms start\n"), play("@ 0ms start\n    -> elected term 9 until 1s\n"));
}

TEST(Transcript, TimeDoesNotRunBackwards) {
  EXPECT_THROW((void)play("@ 5ms start\n@ 4ms tick\n"), std::runtime_error);
}

}  // namespace
}  // namespace conclave::test
