#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <conclave/timing.hpp>

namespace conclave {
namespace {

using namespace std::chrono_literals;

TEST(Durations, AreUnderstood) {
  const std::vector<std::pair<std::string_view, Duration>> table = {
      {"3s", 3s},
      {"250ms", 250ms},
      {"1m30s", 90s},
      {"1.5h", 90min},
      {"0.5s", 500ms},
      {"0s", 0s},
      {"1h2m3s4ms5us6ns", 1h + 2min + 3s + 4ms + 5us + 6ns},
      {"0.1s", 100ms},
      {"0.3ms", 300us},
      {"2562047h", 2562047h},
      {"00003s", 3s},
  };
  for (const auto& [text, expected] : table) {
    SCOPED_TRACE(text);
    const Result<Duration> duration = parse_duration("lease", text);
    ASSERT_TRUE(duration) << duration.error().message;
    EXPECT_EQ(*duration, expected);
  }
}

TEST(Durations, AreRefusedWithTheNameOfTheOption) {
  const std::vector<std::string_view> table = {
      "",
      "3",
      "s",
      "3 s",
      " 3s",
      "3s ",
      ".5s",
      "-1s",
      "+1s",
      "1e3s",
      "0x10s",
      "3S",
      "3min",
      "3d",
      "1m30",
      "1.2.3s",
      "inf",
      "nan",
      "infs",
      "nans",
      "1,5s",
      "3\xC2\xB5s",
      "2562048h",
      "99999999999999999999h",
      "9223372036854775807ns",
      "2562047h1h",
  };
  const std::string very_long = std::string(400, '9') + "h";
  const auto refused = [](std::string_view text) {
    SCOPED_TRACE(text);
    const Result<Duration> duration = parse_duration("lease", text);
    ASSERT_FALSE(duration);
    EXPECT_TRUE(duration.error().message.starts_with("lease: \"")) << duration.error().message;
  };
  for (const std::string_view text : table) refused(text);
  refused(very_long);
}

}  // namespace
}  // namespace conclave
