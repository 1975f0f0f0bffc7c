// The file store on a real disk: what it keeps, whom it wakes, and who waits for whom.
#include <sys/stat.h>

#include "conformance/file_suite.hpp"
#include "stores/file/slots.hpp"

namespace conclave::conformance {
namespace {

TEST_F(FileStoreTest, TheDirectoryIsPrivateAndSoAreItsFiles) {
  const mode_t before = ::umask(0);
  const auto store = make_file_store({.directory = folder_.path() + "/some/state/d"});
  granted(*store, bid("a", 1));
  ::umask(before);
  EXPECT_EQ(mode(folder_.path() + "/some"), 0700U);
  EXPECT_EQ(mode(folder_.path() + "/some/state"), 0700U);
  EXPECT_EQ(mode(folder_.path() + "/some/state/d"), 0700U);
  EXPECT_EQ(mode(folder_.path() + "/some/state/d/election.election"), 0600U);
  // The election's file has its full size, and nothing else is left of making it.
  EXPECT_EQ(fs::file_size(folder_.path() + "/some/state/d/election.election"), file::file_size);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path() + "/some/state/d"), {}), 1);
}

TEST_F(FileStoreTest, AnotherObjectSeesTheLeaderAndItsMetadata) {
  const auto store = connect();
  const auto other = connect();
  const Granted grant = granted(*store, bid("a", 1));
  const Inspection found = look(*other);
  ASSERT_TRUE(found.leader);
  EXPECT_EQ(found.leader->leader, "a");
  EXPECT_EQ(found.leader->metadata, "info of a");
  EXPECT_EQ(found.leader->term, grant.term);
  EXPECT_EQ(found.last_term, grant.term);
  EXPECT_FALSE(found.vacancy);
}

TEST_F(FileStoreTest, OnlyTheHolderHasTheFileOpen) {
  const auto holder = connect();
  const auto follower = connect();
  const Granted grant = granted(*holder, bid("a", 1));
  const auto ear = listen(*follower, "b");
  ASSERT_TRUE(ear->wait_for_last<Record>());
  for (std::uint64_t i = 2; i < 20; ++i) {
    EXPECT_TRUE(std::holds_alternative<Held>(campaign(*follower, bid("b", i))));
    EXPECT_TRUE(std::holds_alternative<Held>(campaign(*holder, bid("c", 100 + i))));
  }
  EXPECT_TRUE(soon_open(1));
  resign(*holder, bid("a", 1), grant.term, true);
  EXPECT_TRUE(soon_open(0));
}

// Renewals and vain bids are nobody's business: they wake no one.
TEST_F(FileStoreTest, WhatChangesNothingWakesNobody) {
  const auto holder = connect();
  const auto follower = connect();
  const Granted grant = granted(*holder, bid("a", 1));
  renew(*holder, bid("a", 1), grant.term);
  const auto ear = listen(*follower, "b");
  ASSERT_TRUE(ear->wait_for_last<Record>());
  for (std::uint64_t i = 2; i < 100; ++i) {
    campaign(*follower, bid("b", i));
    campaign(*holder, bid("c", 100 + i));
    renew(*holder, bid("a", 1), grant.term);
    inspect(*follower);
  }
  // Whatever might have been on its way has arrived before this.
  end(*holder);
  ASSERT_TRUE(ear->wait_for_last<Ended>());
  EXPECT_EQ(ear->count(), 2U);
}

TEST_F(FileStoreTest, AFileThatIsReplacedUnderItsHolderEndsTheTermAtOnce) {
  const auto remove_it = [&] { fs::remove(file()); };
  const auto move_it = [&] { fs::rename(file(), file("elsewhere")); };
  const auto move_all = [&] { fs::rename(folder_.path() + "/d", folder_.path() + "/elsewhere"); };
  const auto put_another_in_its_place = [&] {
    fs::copy_file(file(), file("copy"));
    fs::rename(file("copy"), file());
  };
  std::uint64_t attempt = 1;
  for (const std::function<void()>& harm :
       {std::function<void()>(remove_it), std::function<void()>(move_it),
        std::function<void()>(move_all), std::function<void()>(put_another_in_its_place)}) {
    const auto holder = connect();
    const auto other = connect();
    const Bid mine = bid("a", attempt++);
    const auto ear = listen(*holder, "a");
    const auto other_ear = listen(*other, "b");
    const Term term = granted(*holder, mine).term;
    ASSERT_TRUE(ear->wait_for_last<Record>());
    ASSERT_TRUE(other_ear->wait_for_last<Record>());
    harm();
    ASSERT_TRUE(ear->wait_for_last<Vacant>());
    ASSERT_TRUE(other_ear->wait_for_last<Vacant>());
    {
      const std::scoped_lock lock(ear->mutex);
      EXPECT_EQ(std::get<Vacant>(ear->heard.back()).term, term);
    }
    EXPECT_TRUE(std::holds_alternative<TermLost>(renew(*holder, mine, term)));
    // Whoever saw the term waits for its holder, in whichever file it finds the place.
    const Granted next = granted(*other, bid("b", attempt++, term));
    EXPECT_GT(next.term, term);
    EXPECT_TRUE(ear->wait_for_last<Record>());
    fs::remove_all(folder_.path() + "/d");
  }
}

TEST_F(FileStoreTest, AFileThatIsOverwrittenUnderItsHolderEndsTheTerm) {
  const auto holder = connect();
  granted(*holder, bid("a", 1));
  resign(*holder, bid("a", 1), std::nullopt, true);
  fs::copy_file(file(), file("backup"));
  const Term term = granted(*holder, bid("a", 2)).term;
  const auto ear = listen(*holder, "a");
  ASSERT_TRUE(ear->wait_for_last<Record>());
  fs::copy_file(file("backup"), file(), fs::copy_options::overwrite_existing);
  ASSERT_TRUE(ear->wait_for_last<Vacant>());
  const RenewAnswer lost = renew(*holder, bid("a", 2), term);
  ASSERT_TRUE(std::holds_alternative<TermLost>(lost));
  EXPECT_EQ(std::get<TermLost>(lost).why, LossReason::record_gone);
  EXPECT_EQ(granted(*holder, bid("b", 3, term)).vacancy, Vacancy::absent);
}

// The first term after a loss waits for a holder that may still believe. What comes after it waits
// too, until it has been valid.
TEST_F(FileStoreTest, AWaitIsHandedOnUntilSomebodyHasWaited) {
  const auto later = connect(seconds{2});
  Term seen;
  std::uint64_t attempt = 1;
  const auto vacancy_after = [&](const std::function<void(Store&, const Bid&)>& happens) {
    auto waiter = connect(seconds{9});
    const Bid first = bid("waiter", attempt++, Term{seen.value + 1'000'000'000'000});
    const Granted grant = granted(*waiter, first);
    EXPECT_EQ(grant.vacancy, Vacancy::absent);
    happens(*waiter, first);
    waiter.reset();
    const Bid next = bid("next", attempt++, grant.term);
    const Granted after = granted(*later, next);
    seen = after.term;
    if (after.vacancy == Vacancy::abandoned) {
      EXPECT_EQ(after.previous_lease, seconds{9});
      EXPECT_EQ(look(*later).leader.value_or(Record{}).lease, seconds{9});
    }
    resign(*later, next, after.term, true);
    return after.vacancy;
  };
  const auto dies = [](Store&, const Bid&) {};
  const auto withdraws = [](Store& store, const Bid& mine) {
    resign(store, mine, std::nullopt, false);
  };
  const auto reserves = [](Store& store, const Bid& mine) {
    renew(store, mine, std::get<Granted>(campaign(store, mine)).term, false);
  };
  const auto leads = [](Store& store, const Bid& mine) {
    renew(store, mine, std::get<Granted>(campaign(store, mine)).term, true);
  };
  EXPECT_EQ(vacancy_after(dies), Vacancy::abandoned);
  EXPECT_EQ(vacancy_after(withdraws), Vacancy::abandoned);
  EXPECT_EQ(vacancy_after(reserves), Vacancy::abandoned);
  EXPECT_EQ(vacancy_after(leads), Vacancy::ended);
}

TEST_F(FileStoreTest, AGrantThatIsGivenBackDelaysNobody) {
  const auto store = connect();
  granted(*store, bid("a", 1));
  resign(*store, bid("a", 1), std::nullopt, false);
  EXPECT_EQ(look(*store).vacancy, Vacancy::abandoned);
  EXPECT_EQ(granted(*store, bid("b", 2)).vacancy, Vacancy::ended);
}

TEST_F(FileStoreTest, ALateCopyOfAnOldBidIsRefused) {
  const auto store = connect();
  granted(*store, bid("a", 1));
  resign(*store, bid("a", 1), std::nullopt, true);
  granted(*store, bid("b", 2));
  resign(*store, bid("b", 2), std::nullopt, true);
  resign(*store, bid("c", 3), std::nullopt, false);
  EXPECT_EQ(refused(*store, bid("a", 1)).code, ErrorCode::invalid_state);
  EXPECT_EQ(refused(*store, bid("c", 3)).code, ErrorCode::invalid_state);
  granted(*store, bid("a", 4));
}

TEST_F(FileStoreTest, ABidThatIsGivenUpAtTheDiskIsTakenBack) {
  const auto store = connect();
  for (std::uint64_t attempt = 1; attempt <= 20; ++attempt) {
    const Bid mine = bid("a", attempt);
    int answers = 0;
    on(*store,
       [&] { store->cancel(store->campaign(mine, [&](const CampaignAnswer&) { answers += 1; })); });
    resign(*store, mine, std::nullopt, false);
    EXPECT_EQ(answers, 1);
    EXPECT_FALSE(look(*store).leader);
  }
  granted(*store, bid("b", 100));
}

TEST_F(FileStoreTest, AnEndReachesAHolderInAnotherObject) {
  const auto holder = connect();
  const auto admin = connect();
  const auto ear = listen(*holder, "a");
  const Term term = granted(*holder, bid("a", 1)).term;
  EXPECT_TRUE(std::holds_alternative<Refused>(remove(*admin)));
  EXPECT_TRUE(std::holds_alternative<Done>(end(*admin)));
  EXPECT_TRUE(std::holds_alternative<Done>(end(*admin)));
  ASSERT_TRUE(ear->wait_for_last<Ended>());
  EXPECT_EQ(refused(*holder, bid("a", 1)).code, ErrorCode::election_ended);
  EXPECT_EQ(refused(*admin, bid("b", 2)).code, ErrorCode::election_ended);
  EXPECT_TRUE(std::holds_alternative<Done>(remove(*admin)));
  EXPECT_TRUE(std::holds_alternative<Gone>(remove(*admin)));
  EXPECT_TRUE(std::holds_alternative<Gone>(end(*admin)));
  EXPECT_EQ(look(*admin).last_term, term);
  EXPECT_GT(granted(*admin, bid("b", 3)).term, term);
}

TEST_F(FileStoreTest, LongNamesOfManyByteCharactersAreElectionsOfTheirOwn) {
  std::string name;
  while (name.size() + 3 <= 255) name += "東";
  const auto store = connect();
  const auto other = connect();
  for (const std::string& each : {name, name.substr(0, 252), name.substr(0, 252) + "abc"}) {
    Bid mine = bid("a", 1);
    mine.election = each;
    granted(*store, mine);
    const InspectAnswer found = inspect(*other, each);
    ASSERT_TRUE(std::holds_alternative<Inspection>(found));
    EXPECT_TRUE(std::get<Inspection>(found).leader);
  }
}

}  // namespace
}  // namespace conclave::conformance
