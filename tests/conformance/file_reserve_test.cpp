// Terms that are granted without waiting for the disk, and power failures. No file is touched.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "stores/file/rules.hpp"
#include "stores/file/slots.hpp"

namespace conclave::file {
namespace {

using std::chrono::seconds;

template <typename Bytes>
void put(Image& image, const Bytes& bytes, std::size_t offset) {
  std::copy(bytes.begin(), bytes.end(), image.begin() + static_cast<std::ptrdiff_t>(offset));
}

Bid bid_for_election() {
  Bid bid;
  bid.election = "election";
  return bid;
}

// Both slots of it are whole.
Image whole_file() {
  Image image = fresh_image("election");
  const Slot slot = granted_slot({}, bid_for_election(), {seconds{3}, 0, 0, {}});
  put(image, encode(slot), slot_offset(slot.sequence));
  return image;
}

constexpr Boot first_boot{1, 2};
constexpr Boot second_boot{1, 3};

Content reserved(std::uint64_t term, Boot boot) {
  Content content;
  content.slot.term = Term{10};
  content.slot.election = "election";
  content.reserve = {4, Term{term}, boot};
  return content;
}

TEST(FileReserve, CoversTheTermsUpToItInItsBootOnly) {
  EXPECT_TRUE(is_reserved(reserved(50, first_boot), Term{50}, first_boot));
  EXPECT_FALSE(is_reserved(reserved(50, first_boot), Term{51}, first_boot));
  EXPECT_FALSE(is_reserved(reserved(50, first_boot), Term{50}, second_boot));
  EXPECT_FALSE(is_reserved(reserved(50, {}), Term{50}, first_boot)) << "not confirmed";
  EXPECT_FALSE(is_reserved(reserved(50, {}), Term{50}, {})) << "who knows";
}

TEST(FileReserve, TermsOfAnotherBootAreAboveIt) {
  const Bid bid;
  EXPECT_EQ(granted_slot(reserved(50, first_boot), bid, {{}, 0, 0, first_boot}).term, Term{11});
  EXPECT_EQ(granted_slot(reserved(50, first_boot), bid, {{}, 0, 0, second_boot}).term, Term{51});
  EXPECT_EQ(granted_slot(reserved(50, {}), bid, {{}, 0, 0, {}}).term, Term{51});
}

TEST(FileReserve, TheNextOneReachesFurtherAndIsNotConfirmed) {
  const Reserve next = next_reserve(reserved(50, first_boot), Term{60});
  EXPECT_EQ(next.sequence, 5U);
  EXPECT_EQ(next.term, Term{60 + reserve_span});
  EXPECT_FALSE(next.boot.known());
  constexpr auto greatest = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(next_reserve(Content{}, Term{greatest - 1}).term, Term{greatest});
}

TEST(FileReserve, ATornOneLeavesTheOneBefore) {
  Image image = whole_file();
  put(image, encode_reserve({1, Term{100}, first_boot}), reserve_offset(1));
  put(image, encode_reserve({2, Term{200}, second_boot}), reserve_offset(2));
  EXPECT_EQ(decode(image, "election", "here")->reserve.term, Term{200});
  image[reserve_offset(2) + 30] ^= std::byte{1};
  EXPECT_EQ(decode(image, "election", "here")->reserve.term, Term{100});
  EXPECT_EQ(decode(image, "election", "here")->reserve.boot, first_boot);
}

TEST(FileReserve, IsWhatAPowerFailureLeaves) {
  Image image = whole_file();
  put(image, encode_reserve({1, Term{100}, first_boot}), reserve_offset(1));
  for (const std::uint64_t each : {0U, 1U}) image[slot_offset(each) + 30] ^= std::byte{1};
  EXPECT_FALSE(decode(image, "election", "here"));
  EXPECT_FALSE(recovered(image, "election", first_boot)) << "that was no power failure";
  EXPECT_FALSE(recovered(image, "election", {})) << "who knows";
  const auto left = recovered(image, "election", second_boot);
  ASSERT_TRUE(left);
  EXPECT_EQ(found_vacancy(*left, {}), Vacancy::absent);
  EXPECT_GT(granted_slot(*left, {}, {{}, 0, 0, second_boot}).term, Term{100});
  EXPECT_FALSE(recovered(Image{}, "election", second_boot)) << "never reserved";
}

// What the kernel has in memory, and what a power failure leaves of it.
struct Machine {
  Image memory = fresh_image("election");
  Image disk = memory;
  Boot boot{0, 1};
  Bid bid = bid_for_election();

  // As Place does: reserve, sync, confirm, then the slot without a sync.
  Term grant(std::int64_t wall_clock) {
    auto content = decode(memory, "election", "here");
    if (!content) content = recovered(memory, "election", boot).value();
    const Slot slot = granted_slot(*content, bid, {seconds{3}, wall_clock, 0, boot});
    if (!is_reserved(*content, slot.term, boot)) {
      Reserve reserve = next_reserve(*content, slot.term);
      put(memory, encode_reserve(reserve), reserve_offset(reserve.sequence));
      disk = memory;
      reserve.boot = boot;
      put(memory, encode_reserve(reserve), reserve_offset(reserve.sequence));
    }
    put(memory, encode(slot), slot_offset(slot.sequence));
    return slot.term;
  }

  // Of each sector either what was synced or what was written since.
  void fail(std::mt19937_64& random) {
    constexpr std::size_t sector = 512;
    for (std::size_t at = 0; at < file_size; at += sector) {
      if (random() % 2 == 0) std::copy_n(memory.begin() + at, sector, disk.begin() + at);
    }
    memory = disk;
    boot.low += 1;
  }
};

TEST(FileReserve, PowerFailuresNeverBringATermBack) {
  std::mt19937_64 random(20);
  for (int life = 0; life < 200; ++life) {
    Machine machine;
    Term last{};
    for (int step = 0; step < 60; ++step) {
      if (random() % 4 == 0) machine.fail(random);
      // The wall clock may be set back at a boot, so it cannot help.
      const Term next = machine.grant(static_cast<std::int64_t>(random() % 1000));
      ASSERT_GT(next, last) << "life " << life << ", step " << step;
      last = next;
    }
  }
}

}  // namespace
}  // namespace conclave::file
