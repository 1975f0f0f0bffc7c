// Candidates on a store that fails them. The ids are those of the scenario list.
#include "conformance/conformance.hpp"

namespace conclave::conformance {
namespace {

TEST_P(Disturbed, T03_ACutOffLeaderStepsDownAndAnotherLeads) {
  const Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  const Term old = first->term();
  const Member second = join("b");
  run_for(lease());
  first.faults->partition();
  ASSERT_TRUE(run_until([&] { return first->count<core::Lost>() == 1; }));
  EXPECT_EQ(first->last<core::Lost>()->reason, LossReason::lease_expired);
  EXPECT_GE(first->count<core::Jeopardy>(), 1U);
  if (!has(Ability::expires)) GTEST_SKIP() << "a living process keeps its place here";
  ASSERT_TRUE(until_leads(second));
  EXPECT_GT(second->term(), old);
}

TEST_P(Disturbed, T04_TheFaultMovesAndTheRolesSwap) {
  if (!has(Ability::expires)) GTEST_SKIP() << "a living process keeps its place here";
  const Member first = join("a");
  const Member second = join("b");
  ASSERT_TRUE(until_leads(first));
  first.faults->partition();
  ASSERT_TRUE(until_leads(second));
  first.faults->heal();
  ASSERT_TRUE(run_until([&] { return first->role() == Role::follower && first->leader() == "b"; }));
  run_for(lease());
  const std::size_t errors = first->count<core::Failed>();
  second.faults->partition();
  ASSERT_TRUE(until_leads(first));
  EXPECT_FALSE(second->leads());
  EXPECT_EQ(first->count<core::Failed>(), errors) << trouble_of(first);
}

TEST_P(Disturbed, T10_AStoreThatIsDownAtTheStartIsReportedAndRetried) {
  const Member member = make("a");
  member.faults->partition();
  member->start();
  ASSERT_TRUE(run_until([&] { return member->count<core::Failed>() >= 3; }));
  EXPECT_EQ(member->role(), Role::bootstrap);
  member.faults->heal();
  EXPECT_TRUE(until_leads(member));
}

TEST_P(Disturbed, T10_StopReturnsAlsoWhenTheStoreIsDown) {
  const Member idle = make("idle");
  idle.faults->partition();
  idle->start();
  const Member leader = join("leader");
  ASSERT_TRUE(until_leads(leader));
  leader.faults->partition();
  idle->stop();
  leader->stop();
  EXPECT_TRUE(until_stopped(idle));
  EXPECT_TRUE(until_stopped(leader));
  EXPECT_FALSE(leader->leads());
}

TEST_P(Disturbed, R01_AStalledLeaderReadsFalseOnItsFirstLook) {
  const Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  const Term old = first->term();
  const Member second = join("b");
  first->stall();
  if (has(Ability::expires)) {
    ASSERT_TRUE(until_leads(second));
  } else {
    run_for(2 * lease());
  }
  EXPECT_FALSE(first->leads());
  first->go_on();
  ASSERT_TRUE(run_until([&] { return first->count<core::Lost>() == 1; }));
  ASSERT_TRUE(run_until([&] { return first->leads() || second->leads(); }));
  EXPECT_GT(std::max(first->term(), second->term()), old);
}

TEST_P(Disturbed, R02_AWipeUnderTheLeaderNeverMakesTwo) {
  if (!has(Ability::wipes)) GTEST_SKIP() << "the fixture cannot delete";
  const Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  const Member second = join("b");
  run_for(lease());
  fixture().wipe();
  run_for(3 * lease());
  ASSERT_TRUE(run_until([&] { return first->leads() || second->leads(); }));
  EXPECT_LE(leaders().size(), 2U);
}

TEST_P(Disturbed, R02_WhoeverHasSeenTheTermWaitsForItsHolderAfterAWipe) {
  if (!has(Ability::wipes)) GTEST_SKIP() << "the fixture cannot delete";
  const Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  const Member second = join("b");
  ASSERT_TRUE(run_until([&] { return second->leader() == "a"; }));
  second->stop();
  ASSERT_TRUE(until_stopped(second));
  first.faults->partition();
  fixture().wipe();
  second->start();
  ASSERT_TRUE(until_leads(second));
  EXPECT_FALSE(first->leads());
}

TEST_P(Disturbed, T11_AnElectionThatBeginsAnewWaitsForALeaderThatDidNotHear) {
  const Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  first.faults->partition();
  const auto admin = connect();
  EXPECT_TRUE(std::holds_alternative<Done>(end(*admin)));
  Answer removed = remove(*admin);
  // Refused as long as the session that holds the place has not heard.
  for (int i = 0; i < 100 && std::holds_alternative<Refused>(removed); ++i) {
    run_for(lease() / 20);
    removed = remove(*admin);
  }
  EXPECT_TRUE(std::holds_alternative<Done>(removed));
  const Member second = join("b");
  ASSERT_TRUE(until_leads(second));
  EXPECT_FALSE(first->leads());
}

TEST_P(Disturbed, R08_OneLostReplyToARenewalCostsNothing) {
  const Member member = join("a");
  ASSERT_TRUE(until_leads(member));
  for (const Fault& fault : {Fault::lose_reply(), Fault::lose_request(),
                             Fault::delay_reply(lease()), Fault::delay_request(lease())}) {
    member.faults->next(Verb::renew, fault);
    run_for(lease());
  }
  EXPECT_TRUE(member->leads());
  EXPECT_EQ(member->count<core::Elected>(), 1U);
  EXPECT_EQ(member->count<core::Stopping>(), 0U);
  EXPECT_GE(member->count<core::Jeopardy>(), 3U);
}

TEST_P(Disturbed, R08_OneLostReplyToACampaignIsRecognised) {
  const Member member = make("a");
  member.faults->next(Verb::campaign, Fault::lose_reply());
  member->start();
  ASSERT_TRUE(until_leads(member));
  // It leads on the grant of which it had not heard: there was no second one.
  EXPECT_EQ(member.faults->count(Verb::campaign), 2U);
  EXPECT_EQ(inspect(*connect()).last_term, member->term());
  EXPECT_EQ(member->count<core::Elected>(), 1U);
}

TEST_P(Disturbed, R12_ALostGrantNeverWedgesTheElection) {
  Member first = make("a");
  first.faults->next(Verb::campaign, Fault::lose_reply());
  first->start();
  ASSERT_TRUE(run_until([&] { return first.faults->count(Verb::campaign) == 1; }));
  first.faults->partition();
  const auto admin = connect();
  for (int i = 0; i < 100 && !inspect(*admin).leader; ++i) run_for(lease() / 100);
  const Member second = join("b");
  EXPECT_EQ(second->role(), Role::follower);
  first = {};
  EXPECT_TRUE(until_leads(second));
}

TEST_P(Disturbed, R12_AStopTakesBackWhatALostReplyHadGranted) {
  const Member first = make("a");
  first.faults->next(Verb::campaign, Fault::lose_reply());
  first->start();
  ASSERT_TRUE(run_until([&] { return first.faults->count(Verb::campaign) == 1; }));
  const Member second = join("b");
  first->stop();
  ASSERT_TRUE(until_stopped(first));
  EXPECT_EQ(inspect(*connect()).leader.value_or(Record{"b", {}, {}, {}, 0, {}, {}, {}}).leader,
            "b");
  EXPECT_TRUE(until_leads(second));
}

TEST_P(Disturbed, P01_AStoreThatHangsForeverCostsTheTermAndNothingMore) {
  if (!has(Ability::expires)) GTEST_SKIP() << "a living process keeps its place here";
  const Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  const Member second = join("b");
  first.faults->freeze();
  ASSERT_TRUE(run_until([&] { return first->count<core::Lost>() == 1; }));
  ASSERT_TRUE(until_leads(second));
  first.faults->heal();  // and now the server executes what it was asked long ago
  run_for(lease());
  EXPECT_TRUE(second->leads());
  EXPECT_EQ(first->role(), Role::follower);
  second.faults->freeze();
  second->stop();
  EXPECT_TRUE(until_stopped(second));
  EXPECT_TRUE(until_leads(first));
}

TEST_P(Disturbed, P02_AnOverrunDrainIsNotRenewedAndNotReleased) {
  CandidateOptions stubborn;
  stubborn.work_ends = false;
  stubborn.timing.drain_limit = 2 * lease();
  const Member first = join("a", stubborn);
  ASSERT_TRUE(until_leads(first));
  const Member second = join("b");
  first->resign();
  ASSERT_TRUE(run_until([&] { return first->count<core::DrainOverrun>() == 1; }));
  const bool still = has(Ability::stands_still);
  EXPECT_TRUE(first->leads() || !still);
  EXPECT_FALSE(second->leads() && still);
  const std::uint64_t resigned = first.faults->count(Verb::resign);
  ASSERT_TRUE(run_until([&] { return first->count<core::Lost>() == 1; }));
  if (still) {
    EXPECT_EQ(first.faults->count(Verb::resign), resigned);
    EXPECT_FALSE(second->leads());
  }
  ASSERT_TRUE(until_leads(second));
  first->end_work();
  run_for(2 * lease());
  EXPECT_TRUE(second->leads());
}

}  // namespace
}  // namespace conclave::conformance
