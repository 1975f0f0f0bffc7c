// Grants and terms: who gets the place, on what evidence, and that terms only grow.
#include "conformance/conformance.hpp"

namespace conclave::conformance {
namespace {

TEST_P(Contract, TheFirstBidIsGrantedAndTheSecondIsHeld) {
  const auto store = connect();
  const auto other = connect();
  const Granted grant = granted(*store, bid("a", 1));
  EXPECT_TRUE(grant.term.exists());
  EXPECT_EQ(grant.vacancy, Vacancy::absent);
  EXPECT_EQ(grant.lease, store->lease());
  EXPECT_EQ(grant.previous_lease, Duration::zero());
  const Held busy = held(*other, bid("b", 2));
  ASSERT_TRUE(busy.record);
  EXPECT_EQ(busy.record->leader, "a");
  EXPECT_EQ(busy.record->metadata, "info of a");
  EXPECT_EQ(busy.record->term, grant.term);
  EXPECT_EQ(busy.record->lease, store->lease());
  EXPECT_EQ(busy.place, has(Ability::queues) ? 1U : 0U);
}

TEST_P(Contract, ARepeatedCampaignIsGrantedTheSameTermOnTheSameVacancy) {
  const auto store = connect();
  const Granted first = granted(*store, bid("a", 1));
  run_for(lease() / 4);
  const Granted again = granted(*store, bid("a", 1));
  EXPECT_EQ(again.term, first.term);
  EXPECT_EQ(again.vacancy, first.vacancy);
  EXPECT_GT(again.since, first.since);
  resign(*store, resignation(bid("a", 1), first.term, true));
  const Granted next = granted(*store, bid("b", 2));
  EXPECT_EQ(next.vacancy, Vacancy::released);
  EXPECT_EQ(granted(*store, bid("b", 2)).vacancy, Vacancy::released);
}

TEST_P(Contract, AFinishedAttemptGrantsNothing) {
  const auto store = connect();
  const Term term = granted(*store, bid("a", 1)).term;
  resign(*store, resignation(bid("a", 1), term, true));
  EXPECT_FALSE(std::holds_alternative<Granted>(campaign(*store, bid("a", 1))));
  EXPECT_FALSE(inspect(*store).leader);
  EXPECT_EQ(inspect(*store).last_term, term);
}

TEST_P(Contract, StaleRenewalsAndResignationsChangeNothing) {
  const auto store = connect();
  const Bid mine = bid("a", 1);
  const Term term = granted(*store, mine).term;
  const Version version = inspect(*store).leader.value_or(Record{}).version();
  const Bid foreign = bid("a", 9);
  EXPECT_TRUE(std::holds_alternative<TermLost>(renew(*store, renewal(foreign, term))));
  EXPECT_TRUE(std::holds_alternative<TermLost>(renew(*store, renewal(mine, Term{term.value - 1}))));
  EXPECT_TRUE(std::holds_alternative<Gone>(resign(*store, resignation(foreign, term, true))));
  EXPECT_TRUE(
      std::holds_alternative<Gone>(resign(*store, resignation(mine, Term{term.value + 1}, true))));
  EXPECT_EQ(inspect(*store).leader.value_or(Record{}).version(), version);
  EXPECT_TRUE(std::holds_alternative<Renewed>(renew(*store, renewal(mine, term))));
  if (has(Ability::stamps)) {
    EXPECT_FALSE(inspect(*store).leader.value_or(Record{}).version() == version);
  }
}

TEST_P(Contract, AnOldTermIsToldThatItWasSuperseded) {
  const auto store = connect();
  const Term old = granted(*store, bid("a", 1)).term;
  resign(*store, resignation(bid("a", 1), old, true));
  granted(*store, bid("b", 2));
  const RenewAnswer answer = renew(*store, renewal(bid("a", 1), old));
  ASSERT_TRUE(std::holds_alternative<TermLost>(answer));
  EXPECT_EQ(std::get<TermLost>(answer).why, LossReason::superseded);
}

TEST_P(Contract, P03_TheSameCandidateGetsANewHigherTerm) {
  const auto store = connect();
  Term highest;
  for (std::uint64_t attempt = 1; attempt <= 5; ++attempt) {
    const Term term = granted(*store, bid("a", attempt)).term;
    EXPECT_GT(term, highest);
    highest = term;
    const bool was_valid = attempt % 2 == 0;
    EXPECT_TRUE(std::holds_alternative<Done>(
        resign(*store, resignation(bid("a", attempt), term, was_valid))));
    EXPECT_EQ(inspect(*store).vacancy, was_valid ? Vacancy::released : Vacancy::abandoned);
  }
}

TEST_P(Contract, AnExpiredRecordIsNotGivenAwayWithoutEvidence) {
  if (!has(Ability::expires)) GTEST_SKIP() << "leases do not expire here";
  const auto store = connect();
  const Term old = granted(*store, bid("a", 1)).term;
  run_for(2 * lease());
  Bid other = bid("b", 2);
  const Held busy = held(*store, other);
  ASSERT_TRUE(busy.record);
  EXPECT_LE(busy.look_again_in, Duration::zero());
  other.seen.unchanged = Version{old, busy.record->stamp + 1};
  held(*store, other);
  other.seen.unchanged = busy.record->version();
  const Granted grant = granted(*store, other);
  EXPECT_EQ(grant.vacancy, Vacancy::expired);
  EXPECT_EQ(grant.previous_lease, lease());
  EXPECT_GT(grant.term, old);
}

TEST_P(Contract, AServersWordCountsOnlyWhileItsClockHasNotJumped) {
  const auto store = connect();
  granted(*store, bid("a", 1));
  Bid other = bid("b", 2);
  const Held look = held(*store, other);
  if (!has(Ability::expires) || !look.record || !look.record->server_time) {
    GTEST_SKIP() << "no server judges here";
  }
  run_for(2 * lease());
  const ServerTime expected = *held(*store, other).record.value_or(Record{}).server_time;
  EXPECT_GE(expected, *look.record->server_time + 2 * lease());
  other.seen.expected_server_time = expected - lease();
  held(*store, other);
  other.seen.expected_server_time = expected;
  EXPECT_EQ(granted(*store, other).vacancy, Vacancy::expired);
}

TEST_P(Contract, ALateRenewalCountsAsLongAsNobodyTookThePlace) {
  if (!has(Ability::expires)) GTEST_SKIP() << "leases do not expire here";
  const auto store = connect();
  const Bid mine = bid("a", 1);
  const Term term = granted(*store, mine).term;
  run_for(2 * lease());
  const RenewAnswer answer = renew(*store, renewal(mine, term));
  // A store whose own clock collects what has expired may have done so; it is never Unknown.
  EXPECT_FALSE(std::holds_alternative<Unknown>(answer));
  if (std::holds_alternative<Renewed>(answer)) {
    EXPECT_TRUE(held(*store, bid("b", 2)).record);
  }
}

TEST_P(Contract, ARecordBelowTheHighestTermSeenCountsAsAbsent) {
  const auto store = connect();
  const Term term = granted(*store, bid("a", 1)).term;
  // Where a session holds the place, only that can be found which nobody holds.
  if (!has(Ability::expires)) resign(*store, resignation(bid("a", 1), term, true));
  Bid other = bid("b", 2);
  other.highest_term_seen = Term{1'000'000'000'000'000'000};
  const Granted grant = granted(*store, other);
  EXPECT_EQ(grant.vacancy, Vacancy::absent);
  EXPECT_GT(grant.term, other.highest_term_seen);
}

TEST_P(Contract, P04_TermsGrowAfterReleaseAndWipe) {
  if (!has(Ability::wipes)) GTEST_SKIP() << "the fixture cannot delete";
  const auto store = connect();
  const Term old = granted(*store, bid("a", 1)).term;
  resign(*store, resignation(bid("a", 1), old, true));
  fixture().wipe();
  Bid other = bid("b", 2);
  other.highest_term_seen = old;
  EXPECT_GT(granted(*store, other).term, old);
}

TEST_P(Contract, P13_TheLeaseInTheRecordIsTheHoldersOwn) {
  const auto store = connect();
  const auto longer = fixture().make_store(2 * lease());
  const Bid mine = bid("a", 1);
  const Granted grant = granted(*longer, mine);
  EXPECT_EQ(grant.lease, longer->lease());
  const Held busy = held(*store, bid("b", 2));
  ASSERT_TRUE(busy.record);
  EXPECT_EQ(busy.record->lease, longer->lease());
  resign(*longer, resignation(mine, grant.term, true));
  const Granted next = granted(*store, bid("b", 2));
  EXPECT_EQ(next.lease, store->lease());
  EXPECT_EQ(next.previous_lease, longer->lease());
}

// The one before may not be over, and the one that waits for it may vanish.
TEST_P(Contract, P13_AGrantThatHasToWaitKeepsTheLongerLeaseInTheRecord) {
  const auto store = connect();
  const auto longer = fixture().make_store(2 * lease());
  const Bid mine = bid("a", 1);
  const Granted grant = granted(*longer, mine);
  resign(*longer, resignation(mine, grant.term, false));
  const Granted next = granted(*store, bid("b", 2));
  if (next.vacancy == Vacancy::ended) GTEST_SKIP() << "nobody has to wait for a free place here";
  EXPECT_EQ(next.vacancy, Vacancy::abandoned);
  EXPECT_EQ(next.lease, store->lease()) << "what the holder counts on";
  const Held busy = held(*store, bid("c", 3));
  ASSERT_TRUE(busy.record);
  EXPECT_EQ(busy.record->lease, longer->lease()) << "what the others wait for";
}

TEST_P(Contract, MetadataIsKeptAsItIs) {
  const auto store = connect();
  Bid mine = bid("a", 1);
  mine.metadata =
      "{\"city\": \"Zürich / 東京\", \"quote\": \"\\\"'\\n\"}\n" + std::string(3000, 'x');
  granted(*store, mine);
  const Held busy = held(*store, bid("b", 2));
  ASSERT_TRUE(busy.record);
  EXPECT_EQ(busy.record->metadata, mine.metadata);
}

}  // namespace
}  // namespace conclave::conformance
