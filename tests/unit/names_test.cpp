#include <conclave/names.hpp>

#include <gtest/gtest.h>

#include <string>

namespace conclave {
namespace {

using namespace std::string_literals;

std::string complaint(const std::optional<Error>& error) {
  if (!error) return "";
  EXPECT_EQ(error->code, ErrorCode::invalid_argument);
  EXPECT_FALSE(error->retryable);
  return error->message;
}

TEST(Names, EmptyOnesAreRefusedWithTheFix) {
  EXPECT_EQ(complaint(check_election_name("")),
            "election name is empty: give the election a name that all its candidates share");
  EXPECT_EQ(complaint(check_candidate_id("")),
            "candidate id is empty: give each candidate an id of its own, or leave it out for a "
            "random one");
}

TEST(Names, MetadataMayBeEmpty) { EXPECT_EQ(check_metadata(""), std::nullopt); }

TEST(Names, LengthIsCountedInBytes) {
  EXPECT_EQ(check_election_name(std::string(max_election_name, 'x')), std::nullopt);
  EXPECT_EQ(check_candidate_id(std::string(max_candidate_id, 'x')), std::nullopt);
  EXPECT_EQ(check_metadata(std::string(max_metadata, 'x')), std::nullopt);
  EXPECT_EQ(complaint(check_election_name(std::string(256, 'x'))),
            "election name is 256 bytes long: at most 255 are allowed; shorten it");
  EXPECT_EQ(complaint(check_candidate_id(std::string(10'240, 'x'))),
            "candidate id is 10240 bytes long: at most 255 are allowed; shorten it");
  EXPECT_EQ(complaint(check_metadata(std::string(4097, 'x'))),
            "metadata is 4097 bytes long: at most 4096 are allowed; shorten it");
}

TEST(Names, ANulIsRefusedWhereverItStands) {
  EXPECT_EQ(complaint(check_election_name("ab\0c"s)),
            "election name has a NUL at byte 2: remove it, since not every store can keep one");
  EXPECT_NE(check_candidate_id("\0"s), std::nullopt);
  EXPECT_NE(check_metadata("end\0"s), std::nullopt);
}

TEST(Names, ControlCharactersAreRefusedInNamesOnly) {
  EXPECT_EQ(
      complaint(check_election_name("ab\nc")),
      "election name has a control character at byte 2: remove it, since it would garble logs "
      "and terminals");
  for (const char* bad : {"\t", "\x1b[2J", "\x7f", "\xC2\x80", "\xC2\x9F", "ends\r"}) {
    EXPECT_NE(check_election_name(bad), std::nullopt);
    EXPECT_NE(check_candidate_id(bad), std::nullopt);
    EXPECT_EQ(check_metadata(bad), std::nullopt);
  }
  EXPECT_EQ(check_candidate_id("\xC2\xA0"), std::nullopt);
}

TEST(Names, WelcomesAnyScriptSpacesAndSlashes) {
  for (const char* good :
       {"a", "nightly reports", "a/b/../c", "~user:x{y}*", "für Elise", "選挙", "выборы", "🗳️",
        "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF", "\xEE\x80\x80"}) {
    EXPECT_EQ(complaint(check_election_name(good)), "") << good;
    EXPECT_EQ(complaint(check_candidate_id(good)), "") << good;
    EXPECT_EQ(complaint(check_metadata(good)), "") << good;
  }
}

struct Bad {
  const char* kind;
  std::string bytes;
};

class InvalidUtf8 : public testing::TestWithParam<Bad> {};

TEST_P(InvalidUtf8, IsRefusedAtItsFirstByte) {
  const std::string text = "ok" + GetParam().bytes;
  EXPECT_EQ(complaint(check_election_name(text)),
            "election name is not valid UTF-8 at byte 2: encode it as UTF-8");
  EXPECT_EQ(complaint(check_candidate_id(text)),
            "candidate id is not valid UTF-8 at byte 2: encode it as UTF-8");
  EXPECT_EQ(complaint(check_metadata(text)),
            "metadata is not valid UTF-8 at byte 2: encode it as UTF-8");
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, InvalidUtf8,
    testing::Values(Bad{"LoneContinuation", "\x80"}, Bad{"OverlongOfTwo", "\xC0\x80"},
                    Bad{"OverlongOfTwoToo", "\xC1\xBF"}, Bad{"OverlongOfThree", "\xE0\x9F\xBF"},
                    Bad{"OverlongOfFour", "\xF0\x8F\xBF\xBF"}, Bad{"Surrogate", "\xED\xA0\x80"},
                    Bad{"LastSurrogate", "\xED\xBF\xBF"}, Bad{"BeyondTheEnd", "\xF4\x90\x80\x80"},
                    Bad{"LeadF5", "\xF5\x80\x80\x80"}, Bad{"LeadFF", "\xFF"},
                    Bad{"CutAfterOne", "\xC3"}, Bad{"CutAfterTwo", "\xE2\x82"},
                    Bad{"CutAfterThree", "\xF0\x9F\x97"}, Bad{"NoContinuation", "\xC3z"},
                    Bad{"BrokenSecond", "\xE2z\x82"}, Bad{"BrokenThird", "\xE2\x82z"},
                    Bad{"BrokenFourth", "\xF0\x9F\x97z"}),
    [](const auto& each) { return each.param.kind; });

}  // namespace
}  // namespace conclave
