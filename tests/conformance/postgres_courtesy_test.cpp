// Who lets others go first, and that all of them get their turn.
#include "stores/postgres/courtesy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace conclave::postgres {
namespace {

bool yields(Courtesy& courtesy, const std::string& candidate) {
  return courtesy.who_asks({candidate}).empty();
}

TEST(PostgresCourtesy, IsForWhoHasWaitedLonger) {
  Courtesy of_anna;
  EXPECT_FALSE(yields(of_anna, "anna")) << "nothing is known";
  of_anna.has_led("bob", {1});
  EXPECT_FALSE(yields(of_anna, "anna")) << "who has not led asks";
  of_anna.has_led("anna", {2});
  of_anna.has_led("carl", {3});
  EXPECT_TRUE(yields(of_anna, "anna")) << "bob has led before, and waits";
  of_anna.has_led("bob", {4});
  EXPECT_FALSE(yields(of_anna, "anna")) << "nobody waits for longer";
}

TEST(PostgresCourtesy, CountsATurnThatNobodySaw) {
  Courtesy of_anna;
  of_anna.has_led("bob", {1});
  of_anna.has_led("carl", {2});
  of_anna.has_led("anna", {3});
  of_anna.has_led("bob", {4});
  of_anna.is_over({5});  // that of carl, who else
  EXPECT_FALSE(yields(of_anna, "anna"));
  of_anna.has_led("carl", {5});
  of_anna.has_led("anna", {6});
  of_anna.is_over({7});
  EXPECT_TRUE(yields(of_anna, "anna"));
}

// Two candidates of one process.
TEST(PostgresCourtesy, IsShownByEachForItself) {
  Courtesy of_both;
  for (const auto& [leader, term] : {std::pair{"bob", 1}, {"anna", 2}, {"carl", 3}}) {
    of_both.has_led(leader, {static_cast<std::uint64_t>(term)});
  }
  const std::vector<std::string> both{"anna", "bob"};
  EXPECT_EQ(of_both.who_asks(both), std::vector<std::string>{"bob"});
  EXPECT_EQ(of_both.who_asks(both), both) << "it was told once more";
}

TEST(PostgresCourtesy, IsShownOnceForEachTerm) {
  Courtesy of_anna;
  of_anna.has_led("bob", {1});
  of_anna.has_led("anna", {2});
  of_anna.has_led("carl", {3});
  EXPECT_TRUE(yields(of_anna, "anna"));
  EXPECT_FALSE(yields(of_anna, "anna")) << "that it is free was told once more";
  of_anna.has_led("carl", {3});
  of_anna.is_over({2});
  EXPECT_FALSE(yields(of_anna, "anna")) << "old news";
}

TEST(PostgresCourtesy, IsNotForWhoIsGone) {
  Courtesy of_anna;
  of_anna.has_led("bob", {1});
  std::uint64_t term = 1;
  int shown = 0;
  for (int i = 0; i < 50; ++i) {  // bob never comes back
    of_anna.has_led("anna", {++term});
    of_anna.has_led("carl", {++term});
    shown += yields(of_anna, "anna") ? 1 : 0;
  }
  EXPECT_LE(shown, 4);
}

TEST(PostgresCourtesy, RemembersOnlySomeOfThoseWhoLeadOnce) {
  Courtesy of_anna;
  for (std::uint64_t term = 1; term <= 1000; ++term) of_anna.has_led(std::to_string(term), {term});
  EXPECT_LE(of_anna.size(), 33U);
}

// Of those who ask at once chance takes one, of the others only if there are none.
TEST(PostgresCourtesy, LetsAllOfThemLead) {
  constexpr std::size_t count = 5;
  std::array<Courtesy, count> all;
  std::array<int, count> led{};
  std::minstd_rand random{7};
  std::size_t leader = 0;
  std::size_t asked_last = 0;
  for (std::uint64_t term = 1; term <= 100; ++term) {
    for (Courtesy& each : all) each.has_led(std::to_string(leader), {term});
    led.at(leader) += 1;
    std::vector<std::size_t> at_once, later;
    for (std::size_t i = 0; i < count; ++i) {
      if (i == leader) continue;
      (yields(all.at(i), std::to_string(i)) ? later : at_once).push_back(i);
    }
    const auto& some = at_once.empty() ? later : at_once;
    asked_last = at_once.size();
    leader = some.at(random() % some.size());
  }
  EXPECT_EQ(asked_last, 1U) << "one after the other";
  EXPECT_GE(*std::min_element(led.begin(), led.end()), 15);
}

}  // namespace
}  // namespace conclave::postgres
