// What the file store writes, and where: names, slots, rules, file systems. No file is touched.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>

#include <conclave/names.hpp>

#include "stores/file/bytes.hpp"
#include "stores/file/directory.hpp"
#include "stores/file/names.hpp"
#include "stores/file/rules.hpp"
#include "stores/file/slots.hpp"

namespace conclave::file {
namespace {

using std::chrono::seconds;

// ---------------------------------------------------------------- names

TEST(FileNames, PlainNamesStayReadable) {
  EXPECT_EQ(relative_path("reports"), "reports.election");
  EXPECT_EQ(relative_path("Nightly_job-7"), "Nightly_job-7.election");
  EXPECT_EQ(relative_path("a b/c.d"), "a%20b%2Fc%2Ed.election");
  EXPECT_EQ(relative_path("100%"), "100%25.election");
  EXPECT_EQ(relative_path("Zürich"), "Z%C3%BCrich.election");
}

TEST(FileNames, NoNameLeavesTheDirectory) {
  for (const char* name : {"..", ".", "../x", "/etc/passwd", "a/../../b", "~", "\n", "%2e%2e"}) {
    const std::string path = relative_path(name);
    EXPECT_EQ(path.find(".."), std::string::npos) << path;
    EXPECT_EQ(path.find('/'), std::string::npos) << path;
    EXPECT_NE(path.front(), '.') << path;
  }
}

// All names of up to three bytes of an awkward alphabet, and long ones that differ in one place.
TEST(FileNames, NoTwoNamesMeet) {
  const std::string alphabet = "a%2F./E.part";
  std::set<std::string> names = {"x.election", "x.part", "x", "x%2Eelection", "a.part/b", "a/b"};
  for (const char a : alphabet) {
    for (const char b : alphabet) {
      for (const char c : alphabet) {
        names.insert({a});
        names.insert({a, b});
        names.insert({a, b, c});
      }
    }
  }
  for (std::size_t size = 70; size <= max_election_name; ++size) {
    names.insert(std::string(size, 'a'));
    names.insert(std::string(size, '/'));
    names.insert(std::string(size - 1, '/') + 'a');
    names.insert('a' + std::string(size - 1, '/'));
  }
  std::set<std::string> paths;
  for (const std::string& name : names)
    EXPECT_TRUE(paths.insert(relative_path(name)).second) << name;
  // Nor is anybody's file somebody else's folder.
  for (const std::string& path : paths) {
    for (auto slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      EXPECT_FALSE(paths.contains(path.substr(0, slash))) << path;
    }
  }
}

TEST(FileNames, LongNamesOfManyByteCharactersAreCutIntoFolders) {
  std::string name;
  while (name.size() + 3 <= max_election_name) name += "東";
  ASSERT_EQ(name.size(), 255U);
  const std::string path = relative_path(name);
  EXPECT_GT(path.size(), 765U);
  std::size_t begin = 0;
  for (std::size_t slash = 0; slash != std::string::npos; begin = slash + 1) {
    slash = path.find('/', begin);
    EXPECT_LE(std::min(slash, path.size()) - begin, 255U);
    EXPECT_GT(std::min(slash, path.size()) - begin, std::string_view(".election").size());
  }
}

// ---------------------------------------------------------------- slots

Slot sample(std::uint64_t sequence) {
  Slot slot;
  slot.sequence = sequence;
  slot.state = State::granted;
  slot.term = Term{1000 + sequence};
  slot.attempt = {sequence * 3, ~sequence};
  slot.lease = seconds{7};
  slot.own_lease = seconds{3};
  slot.previous_lease = seconds{5};
  slot.granted_on = Vacancy::ended;
  slot.settled = sequence % 2 == 0;
  slot.granted_at = 1'700'000'000'000'000;
  slot.process = 4711;
  slot.election = "election";
  slot.candidate = std::string(200 + sequence, 'c');
  slot.metadata = std::string(max_metadata, static_cast<char>('a' + sequence));
  return slot;
}

template <typename Bytes>
void put(Image& image, const Bytes& bytes, std::size_t offset) {
  std::copy(bytes.begin(), bytes.end(), image.begin() + static_cast<std::ptrdiff_t>(offset));
}

// A file in which two states were written, one after the other.
Image with_states(std::uint64_t last) {
  Image image = fresh_image("election");
  put(image, encode(sample(last - 1)), slot_offset(last - 1));
  put(image, encode(sample(last)), slot_offset(last));
  return image;
}

TEST(FileSlots, WhatIsWrittenIsRead) {
  const auto read = decode(with_states(2), "election", "path");
  ASSERT_TRUE(read);
  const Slot expected = sample(2);
  EXPECT_EQ(read->slot.sequence, expected.sequence);
  EXPECT_EQ(read->slot.state, expected.state);
  EXPECT_EQ(read->slot.term, expected.term);
  EXPECT_EQ(read->slot.attempt, expected.attempt);
  EXPECT_EQ(read->slot.lease, expected.lease);
  EXPECT_EQ(read->slot.own_lease, expected.own_lease);
  EXPECT_EQ(read->slot.previous_lease, expected.previous_lease);
  EXPECT_EQ(read->slot.granted_on, expected.granted_on);
  EXPECT_EQ(read->slot.settled, expected.settled);
  EXPECT_EQ(read->slot.granted_at, expected.granted_at);
  EXPECT_EQ(read->slot.process, expected.process);
  EXPECT_EQ(read->slot.candidate, expected.candidate);
  EXPECT_EQ(read->slot.metadata, expected.metadata);
  EXPECT_EQ(read->mark, MarkKind::none);
  EXPECT_FALSE(read->ended);
}

TEST(FileSlots, TheLongestNamesAndMetadataFit) {
  Slot slot = sample(1);
  slot.election = std::string(max_election_name, 'e');
  slot.candidate = std::string(max_candidate_id, 'c');
  Image image{};
  put(image, encode(slot), slot_offset(1));
  ASSERT_TRUE(decode(image, slot.election, "path"));
}

// The write of either slot stops after any number of bytes: what counts is the state before it or
// the whole new one.
TEST(FileSlots, ATornWriteOfEitherSlotLosesNothing) {
  for (const std::uint64_t last : {5U, 6U}) {
    const Image before = with_states(last);
    const SlotBytes next = encode(sample(last + 1));
    std::size_t first_whole = 0;
    for (std::size_t written = 0; written <= next.size(); ++written) {
      Image torn = before;
      std::copy_n(next.begin(), written,
                  torn.begin() + static_cast<std::ptrdiff_t>(slot_offset(last + 1)));
      const auto read = decode(torn, "election", "path");
      ASSERT_TRUE(read) << written;
      if (read->slot.sequence == last + 1 && first_whole == 0) first_whole = written;
      ASSERT_EQ(read->slot.sequence, first_whole == 0 ? last : last + 1) << written;
    }
    EXPECT_GT(first_whole, max_metadata);
  }
}

// The same for sectors that arrive in any order.
TEST(FileSlots, ATornWriteOfSectorsInAnyOrderLosesNothing) {
  constexpr std::size_t sector = 512;
  const std::uint64_t last = 6;
  const SlotBytes next = encode(sample(last + 1));
  for (std::size_t which = 0; which < slot_size / sector; ++which) {
    for (const bool only : {true, false}) {
      Image torn = with_states(last);
      for (std::size_t each = 0; each < slot_size / sector; ++each) {
        if ((each == which) != only) continue;
        const auto at = static_cast<std::ptrdiff_t>(each * sector);
        std::copy_n(next.begin() + at, sector,
                    torn.begin() + static_cast<std::ptrdiff_t>(slot_offset(last + 1)) + at);
      }
      const auto read = decode(torn, "election", "path");
      ASSERT_TRUE(read);
      // What lies behind the metadata is empty in both.
      const bool whole = !only && which * sector > max_metadata + 400;
      EXPECT_EQ(read->slot.sequence, whole ? last + 1 : last) << which << " " << only;
    }
  }
}

TEST(FileSlots, EveryChangedBitIsNoticed) {
  const Image image = with_states(4);
  for (std::size_t at = 0; at < 400; ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Image changed = image;
      changed[slot_offset(4) + at] ^= static_cast<std::byte>(1U << bit);
      const auto read = decode(changed, "election", "path");
      ASSERT_TRUE(read);
      ASSERT_EQ(read->slot.sequence, 3U) << at;
    }
  }
}

TEST(FileSlots, WithoutAWholeStateItIsDamagedAndNeverFresh) {
  Image image = with_states(4);
  image[slot_offset(3) + 100] ^= std::byte{1};
  image[slot_offset(4) + 100] ^= std::byte{1};
  for (const Image& each : {image, Image{}}) {
    const auto read = decode(each, "election", "/some/path");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::corrupt);
    EXPECT_NE(read.error().message.find("/some/path"), std::string::npos);
    EXPECT_NE(read.error().message.find("restore"), std::string::npos);
  }
}

TEST(FileSlots, ALaterFormatIsRefusedWithASentence) {
  for (const std::uint64_t which : {3U, 4U}) {
    Image image = with_states(4);
    const auto slot = std::span(image).subspan(slot_offset(which), slot_size);
    Writer(slot.subspan(8)).number(std::uint32_t{2});
    Reader header(slot.subspan(12));
    const auto length = header.number<std::uint32_t>();
    Writer(slot.subspan(16)).number(std::uint32_t{0});
    Writer(slot.subspan(16)).number(crc32c(slot.first(length)));
    const auto read = decode(image, "election", "/some/path");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::unsupported);
    EXPECT_NE(read.error().message.find("/some/path has format 2"), std::string::npos);
    EXPECT_NE(read.error().message.find("upgrade"), std::string::npos);
  }
}

TEST(FileSlots, AFileOfAnotherElectionIsRefused) {
  const auto read = decode(with_states(4), "Election", "/some/path");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::corrupt);
  EXPECT_NE(read.error().message.find("\"election\""), std::string::npos);
}

TEST(FileSlots, AMarkCountsForItsTermOnly) {
  Image image = with_states(4);
  put(image, encode_mark(sample(4), MarkKind::released), mark_offset);
  EXPECT_EQ(decode(image, "election", "")->mark, MarkKind::released);
  put(image, encode_mark(sample(3), MarkKind::released), mark_offset);
  EXPECT_EQ(decode(image, "election", "")->mark, MarkKind::none);
  MarkBytes torn = encode_mark(sample(4), MarkKind::released);
  torn[30] ^= std::byte{1};
  put(image, torn, mark_offset);
  EXPECT_EQ(decode(image, "election", "")->mark, MarkKind::none);
}

TEST(FileSlots, AnEndingIsReadAndTakenBack) {
  Image image = with_states(4);
  put(image, encode_ending(true), ending_offset);
  EXPECT_TRUE(decode(image, "election", "")->ended);
  put(image, encode_ending(false), ending_offset);
  EXPECT_FALSE(decode(image, "election", "")->ended);
}

TEST(FileSlots, TheChecksumIsCrc32c) {
  const std::string_view text = "123456789";
  EXPECT_EQ(crc32c(std::as_bytes(std::span(text.data(), text.size()))), 0xE3069283U);
}

// ---------------------------------------------------------------- rules

Content content(bool settled, MarkKind mark, State state = State::granted) {
  Content found;
  found.slot = sample(4);
  found.slot.state = state;
  found.slot.settled = settled;
  found.mark = mark;
  return found;
}

TEST(FileRules, AFreeLockIsTheEndOfATermThatWaitedForNobody) {
  const Term none{};
  EXPECT_EQ(found_vacancy(content(true, MarkKind::none), none), Vacancy::ended);
  EXPECT_EQ(found_vacancy(content(true, MarkKind::abandoned), none), Vacancy::ended);
  EXPECT_EQ(found_vacancy(content(true, MarkKind::released), none), Vacancy::released);
  EXPECT_EQ(found_vacancy(content(false, MarkKind::settled), none), Vacancy::ended);
  EXPECT_EQ(found_vacancy(content(false, MarkKind::released), none), Vacancy::released);
}

TEST(FileRules, ATermThatWasStillWaitingHandsItsWaitOn) {
  const Term none{};
  EXPECT_EQ(found_vacancy(content(false, MarkKind::none), none), Vacancy::abandoned);
  EXPECT_EQ(found_vacancy(content(false, MarkKind::abandoned), none), Vacancy::abandoned);
  const Slot next = granted_slot(content(false, MarkKind::none), {}, {seconds{2}, 0, 0});
  EXPECT_EQ(next.granted_on, Vacancy::abandoned);
  EXPECT_FALSE(next.settled);
  EXPECT_EQ(next.lease, seconds{7}) << "what the others wait for";
  EXPECT_EQ(next.own_lease, seconds{2}) << "what the holder counts on";
  EXPECT_EQ(next.previous_lease, seconds{7});
}

TEST(FileRules, ARecordBelowTheHighestTermSeenCountsAsAbsent) {
  const Term above{5000};
  EXPECT_EQ(found_vacancy(content(true, MarkKind::released), above), Vacancy::absent);
  Bid bid;
  bid.highest_term_seen = above;
  const Slot next = granted_slot(content(true, MarkKind::released), bid, {seconds{2}, 0, 0});
  EXPECT_EQ(next.term, Term{5001});
  EXPECT_FALSE(next.settled);
}

TEST(FileRules, TermsAreAboveTheLastAboveTheSeenAndNotBelowTheWallClock) {
  const Content last = content(true, MarkKind::released);  // term 1004
  Bid bid;
  EXPECT_EQ(granted_slot(last, bid, {seconds{2}, 0, 0}).term, Term{1005});
  EXPECT_EQ(granted_slot(last, bid, {seconds{2}, -5, 0}).term, Term{1005});
  EXPECT_EQ(granted_slot(last, bid, {seconds{2}, 2000, 0}).term, Term{2000});
  bid.highest_term_seen = Term{3000};
  EXPECT_EQ(granted_slot(last, bid, {seconds{2}, 2000, 0}).term, Term{3001});
}

TEST(FileRules, ARemovalKeepsTheTermAndRemembersWhoMayNotHaveHeard) {
  const auto removed = [](const Content& before) {
    Content after;
    after.slot = removed_slot(before);
    EXPECT_EQ(after.slot.term, before.slot.term);
    EXPECT_EQ(after.slot.lease, before.slot.lease);
    return found_vacancy(after, Term{});
  };
  EXPECT_EQ(removed(content(true, MarkKind::none)), Vacancy::abandoned);
  EXPECT_EQ(removed(content(true, MarkKind::released)), Vacancy::absent);
  EXPECT_EQ(removed(content(true, MarkKind::abandoned)), Vacancy::absent);
  EXPECT_EQ(removed(content(false, MarkKind::abandoned)), Vacancy::abandoned);
  EXPECT_EQ(removed(content(false, MarkKind::none, State::removed)), Vacancy::abandoned);
}

// ---------------------------------------------------------------- file systems

TEST(FileSystems, NetworkOnesAreRefusedUnlessForced) {
  const std::uint64_t magics[] = {0x6969,     0x517B,     0xFF534D42, 0xFE534D42, 0x65735546,
                                  0x01021997, 0x5346414F, 0x6B414653, 0x00C36400, 0x0BD00BD0,
                                  0x01161970, 0x7461636F, 0x47504653, 0x73757245};
  for (const std::uint64_t magic : magics) {
    const FileSystem found = file_system(magic);
    EXPECT_EQ(found.medium, Medium::network) << magic;
    const auto refused = unsuitable("/mnt/share", found, false);
    ASSERT_TRUE(refused);
    EXPECT_NE(refused->message.find("/mnt/share is on " + std::string(found.name)),
              std::string::npos);
    EXPECT_NE(refused->message.find("local directory"), std::string::npos);
    EXPECT_FALSE(unsuitable("/mnt/share", found, true));
  }
}

TEST(FileSystems, LocalOnesWillDo) {
  for (const std::uint64_t magic : {0xEF53U, 0x58465342U, 0x9123683EU, 0x2FC12FC1U, 0xF2F52010U,
                                    0x01021994U, 0x794C7630U, 0x12345678U}) {
    EXPECT_FALSE(unsuitable("/x", file_system(magic), false)) << magic;
  }
  EXPECT_EQ(file_system(0x01021994).medium, Medium::memory);
  EXPECT_EQ(file_system(0x794C7630).medium, Medium::layer);
}

}  // namespace
}  // namespace conclave::file
