// What can go wrong with the files of the file store: full disks, damage, things in the way.
#include <signal.h>
#include <sys/resource.h>

#include "conformance/file_suite.hpp"
#include "stores/file/slots.hpp"

namespace conclave::conformance {
namespace {

using FileDamage = FileStoreTest;

// The limit on the size of files stands in for a full disk. While it is low nothing is printed.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit low{bytes, before_.rlim_max};
    signal_ = ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &low);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, signal_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
  sighandler_t signal_{};
};

TEST_F(FileDamage, AFullDiskRefusesAGrantAndLosesNothing) {
  const auto store = connect();
  std::vector<CampaignAnswer> answers;
  {
    const FileLimit none(0);
    answers.push_back(campaign(*store, bid("a", 1)));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path() + "/d"), {}), 0);
  Term last = granted(*store, bid("a", 2)).term;
  resign(*store, bid("a", 2), last, true);
  // In the first slot, within the second, before both.
  for (const rlim_t limit : {100U, 9000U, 0U}) {
    for (const std::uint64_t round : {0U, 1U}) {
      const std::uint64_t attempt = 10 + limit + round * 3;
      {
        const FileLimit low(limit);
        answers.push_back(campaign(*store, bid("b", attempt)));
      }
      const bool fits = std::holds_alternative<Granted>(answers.back());  // in the first slot
      if (fits) {
        EXPECT_EQ(limit, 9000U);
        answers.pop_back();
        last = look(*store).last_term;
        resign(*store, bid("b", attempt), std::nullopt, true);
      }
      EXPECT_EQ(look(*store).last_term, last);
      EXPECT_EQ(look(*store).vacancy, Vacancy::released);
      EXPECT_TRUE(soon_open(0));
      const Granted next = granted(*store, bid("c", attempt + 1));
      EXPECT_GT(next.term, last);
      last = next.term;
      resign(*store, bid("c", attempt + 1), last, true);
    }
  }
  for (const CampaignAnswer& each : answers) {
    const auto* refusal = std::get_if<Refused>(&each);
    ASSERT_NE(refusal, nullptr);
    EXPECT_EQ(refusal->error.code, ErrorCode::unavailable);
    EXPECT_TRUE(refusal->error.retryable);
    EXPECT_NE(refusal->error.message.find(folder_.path()), std::string::npos);
    EXPECT_NE(refusal->error.message.find("ulimit"), std::string::npos);
  }
}

TEST_F(FileDamage, ADamagedFileIsRefusedUntilSomebodyActs) {
  const auto store = connect();
  const Term term = granted(*store, bid("a", 1)).term;
  resign(*store, bid("a", 1), term, true);
  {
    std::fstream damaged(file(), std::ios::in | std::ios::out | std::ios::binary);
    for (const std::size_t each : {std::size_t{50}, file::slot_size + 50}) {
      damaged.seekp(static_cast<std::streamoff>(each));
      damaged.put('!');
    }
  }
  const Error error = refused(*store, bid("b", 2));
  EXPECT_EQ(error.code, ErrorCode::corrupt);
  EXPECT_NE(error.message.find(file()), std::string::npos);
  EXPECT_TRUE(std::holds_alternative<Refused>(inspect(*store)));
  EXPECT_TRUE(std::holds_alternative<Refused>(end(*store)));
  EXPECT_TRUE(std::holds_alternative<Refused>(remove(*store)));
  fs::remove(file());
  EXPECT_GT(granted(*store, bid("b", 3)).term, term);
}

// Slots are not synced, so a power failure may tear both. The reserve is, and it is of a boot that
// is over.
TEST_F(FileDamage, WhatAPowerFailureTearsIsMadeWholeAboveTheReserve) {
  const auto store = connect();
  const Term term = granted(*store, bid("a", 1)).term;
  resign(*store, bid("a", 1), term, true);
  const Term reserved{term.value + file::reserve_span};
  {
    std::fstream torn(file(), std::ios::in | std::ios::out | std::ios::binary);
    for (const std::size_t each : {std::size_t{50}, file::slot_size + 50}) {
      torn.seekp(static_cast<std::streamoff>(each));
      torn.put('!');
    }
    const auto bytes = file::encode_reserve({1, reserved, {7, 7}});
    torn.seekp(static_cast<std::streamoff>(file::reserve_offset(1)));
    torn.write(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  EXPECT_EQ(look(*store).last_term, reserved);
  EXPECT_EQ(granted(*store, bid("b", 2)).term, Term{reserved.value + 1});
}

TEST_F(FileDamage, AShortenedFileIsDamagedWhateverItStillHas) {
  const auto store = connect();
  const Term term = granted(*store, bid("a", 1)).term;
  resign(*store, bid("a", 1), term, true);
  std::uint64_t attempt = 2;
  for (const std::uintmax_t size : {20479U, 16384U, 10000U, 8192U, 100U, 0U}) {
    fs::resize_file(file(), size);
    EXPECT_EQ(refused(*store, bid("b", attempt++)).code, ErrorCode::corrupt) << size;
  }
}

// The damaged one may have been the newest.
TEST_F(FileDamage, OneDamagedSlotBringsNoTermBack) {
  const auto store = connect();
  for (const std::size_t each : {std::size_t{50}, file::slot_size + 50}) {
    Term last{};
    for (const std::uint64_t attempt : {1U, 2U, 3U}) {
      // Ahead of the clock, so that it cannot help.
      Bid next = bid("a", 10 * each + attempt);
      next.highest_term_seen = std::max(last, Term{~std::uint64_t{0} / 2});
      last = granted(*store, next).term;
      resign(*store, next, last, true);
    }
    std::fstream(file(), std::ios::in | std::ios::out | std::ios::binary)
        .seekp(static_cast<std::streamoff>(each))
        .put('!');
    EXPECT_GT(granted(*store, bid("b", each)).term, last);
    resign(*store, bid("b", each), std::nullopt, true);
  }
}

TEST_F(FileDamage, WhatStandsInTheWayOfAFileIsNamed) {
  const auto store = connect();
  fs::create_symlink("/etc/passwd", file());
  EXPECT_EQ(refused(*store, bid("a", 1)).code, ErrorCode::denied);
  fs::remove(file());
  fs::create_directory(file());
  const Error error = refused(*store, bid("a", 2));
  EXPECT_NE(error.message.find(file()), std::string::npos);
  fs::remove(file());
  granted(*store, bid("a", 3));
}

TEST_F(FileDamage, ADirectoryThatVanishesIsMadeAnew) {
  const auto store = connect();
  const auto ear = listen(*store, "b");
  const Term term = granted(*store, bid("a", 1)).term;
  ASSERT_TRUE(ear->wait_for_last<Record>());
  fs::remove_all(folder_.path() + "/d");
  ASSERT_TRUE(ear->wait_for_last<Vacant>());
  EXPECT_GT(granted(*store, bid("b", 2, term)).term, term);
  EXPECT_TRUE(ear->wait_for_last<Record>());
  EXPECT_EQ(mode(folder_.path() + "/d"), 0700U);
}

}  // namespace
}  // namespace conclave::conformance
