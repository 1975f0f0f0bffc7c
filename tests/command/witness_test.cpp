// The witness of the demonstration finds what it is there to find.
#include "apps/conclave/witness.hpp"

#include <gtest/gtest.h>

namespace conclave::app {
namespace {

Instant at(int ns) { return Instant{Duration{ns}}; }

Said said(const char* candidate, const char* event, int when, std::uint64_t term, int until = 0) {
  Said result;
  result.candidate = candidate;
  result.event = event;
  result.at = at(when);
  result.term = term;
  result.valid_until = at(until);
  return result;
}

Witness after(std::initializer_list<Said> all) {
  Witness witness;
  for (const Said& each : all) witness.hear(each);
  return witness;
}

TEST(Witness, is_content_with_one_after_the_other) {
  const Witness witness =
      after({said("ann", "elected", 10, 1, 110), said("ann", "extended", 60, 1, 160),
             said("ann", "lost", 150, 1), said("ben", "elected", 150, 2, 250)});
  EXPECT_EQ(witness.breach(), std::nullopt);
  EXPECT_EQ(witness.terms(), 2U);
}

TEST(Witness, finds_two_that_led_at_once) {
  EXPECT_EQ(
      after({said("ann", "elected", 10, 1, 110), said("ben", "elected", 109, 2, 200)}).breach(),
      "ann and ben led at once, with the terms 1 and 2");
}

TEST(Witness, counts_extensions_and_losses) {
  EXPECT_TRUE(after({said("ann", "elected", 10, 1, 110), said("ann", "extended", 60, 1, 160),
                     said("ben", "elected", 159, 2, 200)})
                  .breach());
  EXPECT_TRUE(after({said("ann", "elected", 10, 1, 110), said("ann", "lost", 50, 1),
                     said("ben", "elected", 49, 2, 200)})
                  .breach());
}

TEST(Witness, needs_no_order_of_hearing) {
  EXPECT_EQ(
      after({said("ben", "elected", 150, 2, 250), said("ann", "elected", 10, 1, 110)}).breach(),
      std::nullopt);
  EXPECT_TRUE(
      after({said("ben", "elected", 50, 2, 250), said("ann", "elected", 10, 1, 110)}).breach());
}

TEST(Witness, counts_a_killed_one_until_its_end) {
  for (const int killed : {50, 51}) {
    Witness witness = after({said("ann", "elected", 10, 1, 110)});
    witness.killed("ann", at(killed));
    witness.hear(said("ben", "elected", 50, 2, 200));
    EXPECT_EQ(witness.breach().has_value(), killed > 50);
  }
}

TEST(Witness, finds_a_term_that_does_not_grow) {
  for (const std::uint64_t term : {1U, 2U}) {
    EXPECT_EQ(after({said("ann", "elected", 10, 2, 110), said("ben", "elected", 110, term, 200)})
                  .breach(),
              "ben was elected for term " + std::to_string(term) + ", after term 2");
  }
}

}  // namespace
}  // namespace conclave::app
