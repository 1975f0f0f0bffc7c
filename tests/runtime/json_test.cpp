// to_json(): one valid object on one line, whatever is in it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <conclave/snapshot.hpp>

#include "runtime/json.hpp"

namespace conclave {
namespace {

using namespace std::chrono_literals;

Snapshot sample() {
  Snapshot snapshot;
  snapshot.election = "reports";
  snapshot.candidate = "host-1";
  snapshot.role = Role::leader;
  snapshot.is_leader = true;
  snapshot.term = Term{18446744073709551615U};
  snapshot.lease_remaining = 1500ms;
  snapshot.leader = "host-1";
  snapshot.leader_term = Term{7};
  snapshot.leader_age = 125us;
  snapshot.last_contact = 250us;
  snapshot.counters.terms = 3;
  snapshot.counters.transitions = 5;
  snapshot.counters.renewals = 1000;
  snapshot.counters.leaderless = 2s;
  snapshot.counters.failures[static_cast<std::size_t>(ErrorCode::timed_out)] = 4;
  return snapshot;
}

TEST(JsonTest, IsOneLineWithEverythingInIt) {
  EXPECT_EQ(to_json(sample()),
            R"({"election":"reports","candidate":"host-1","role":"leader","is_leader":true,)"
            R"("term":18446744073709551615,"lease_remaining":1.500000,"jeopardy":false,"place":0,)"
            R"("leader":"host-1","leader_term":7,"leader_age":0.000125,"last_contact":0.000250,)"
            R"("terms":3,"transitions":5,"renewals":1000,"late_renewals":0,"drain_overruns":0,)"
            R"("callback_overruns":0,"leaderless":2.000000,"failures":{"timed_out":4}})");
}

TEST(JsonTest, SaysNullWhereNothingIsKnown) {
  Snapshot snapshot = sample();
  snapshot.leader_age.reset();
  snapshot.last_contact.reset();
  EXPECT_NE(to_json(snapshot).find(R"("leader_age":null,"last_contact":null,)"), std::string::npos);
  EXPECT_NE(to_json(Snapshot{}).find(R"("failures":{}})"), std::string::npos);
}

TEST(JsonTest, EscapesWhatJsonDoesNotAllow) {
  using runtime::quoted;
  EXPECT_EQ(quoted("plain"), R"("plain")");
  EXPECT_EQ(quoted(R"(a"b\c)"), R"("a\"b\\c")");
  EXPECT_EQ(quoted("a\nb\tc\r"), R"("a\u000ab\u0009c\u000d")");
  EXPECT_EQ(quoted(std::string_view("\0", 1)), R"("\u0000")");
  EXPECT_EQ(quoted("\x1f\x7f"), R"("\u001f\u007f")");
  EXPECT_EQ(quoted("wähler \U0001F451"), "\"wähler \U0001F451\"") << "UTF-8 as it is";
  Snapshot snapshot = sample();
  snapshot.leader = "\"},{\n";
  EXPECT_NE(to_json(snapshot).find(R"("leader":"\"},{\u000a")"), std::string::npos);
  EXPECT_EQ(to_json(snapshot).find('\n'), std::string::npos);
}

// A number with a comma is no JSON.
TEST(JsonTest, DoesNotFollowTheLocale) {
  const std::string folder = ::testing::TempDir() + "conclave-locale-" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  const std::string make = "localedef --no-archive -i de_DE -f UTF-8 " + folder + "/comma";
  ASSERT_EQ(std::system(make.c_str()), 0) << "scripts/bootstrap installs what it needs";
  ::setenv("LOCPATH", folder.c_str(), 1);
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  ASSERT_NE(std::setlocale(LC_NUMERIC, "comma"), nullptr);
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%.1f", 1.5);
  const std::string json = to_json(sample());
  std::setlocale(LC_NUMERIC, before.c_str());
  std::filesystem::remove_all(folder);
  EXPECT_STREQ(text.data(), "1,5") << "the locale counts";
  EXPECT_EQ(json, to_json(sample()));
}

}  // namespace
}  // namespace conclave
