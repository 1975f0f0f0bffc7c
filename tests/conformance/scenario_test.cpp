// Candidates and their hand-overs on a store that works. The ids are those of the scenario list.
#include "conformance/conformance.hpp"

namespace conclave::conformance {
namespace {

using Names = std::vector<std::string>;

TEST_P(Scenario, T01_TheFirstLeadsAndTheSecondFollows) {
  const Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  const Member second = join("b");
  EXPECT_EQ(second->role(), Role::follower);
  EXPECT_TRUE(run_until([&] { return second->leader() == "a"; }));
  EXPECT_TRUE(first->leads());
}

TEST_P(Scenario, T02_AnIdlePairStaysAsItIs) {
  const Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  const Member second = join("b");
  run_for(3 * lease());
  EXPECT_TRUE(first->leads());
  EXPECT_EQ(second->role(), Role::follower);
  EXPECT_EQ(leaders(), Names{"a"});
  EXPECT_EQ(first->count<core::Lost>() + second->count<core::Lost>(), 0U);
  // On a busy machine a server may once be late.
  for (const Member* each : {&first, &second}) {
    const auto failed = (*each)->last<core::Failed>().value_or(core::Failed{});
    EXPECT_TRUE(failed.error.message.empty() || failed.error.code == ErrorCode::cancelled)
        << failed.error.message;
  }
}

TEST_P(Scenario, T05_StartAndStopInEveryOrder) {
  const Member member = join("a");
  ASSERT_TRUE(until_leads(member));
  member->start();
  EXPECT_TRUE(run_until([&] { return member->count<core::Failed>() == 1; }));
  EXPECT_EQ(member->last<core::Failed>()->error.code, ErrorCode::invalid_state);
  EXPECT_TRUE(member->leads());
  member->stop();
  member->stop();
  ASSERT_TRUE(until_stopped(member));
  member->stop();
  member->start();
  ASSERT_TRUE(until_leads(member));
  EXPECT_EQ(member->count<core::Failed>(), 1U);
  EXPECT_EQ(member->count<core::HasStopped>(), 1U);
}

TEST_P(Scenario, T06_AGracefulStopHandsOverToExactlyOne) {
  const Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  const Member second = join("b");
  const Member third = join("c");
  first->stop();
  ASSERT_TRUE(run_until([&] { return second->leads() || third->leads(); }));
  run_for(lease());
  EXPECT_EQ(leaders().size(), 2U);
  EXPECT_NE(second->leads(), third->leads());
  EXPECT_EQ(first->last<core::Lost>()->reason, LossReason::stopped);
}

TEST_P(Scenario, T14_AfterATermLimitTheOtherLeadsAndTheExLeaderSitsOutItsTurn) {
  const Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  const Member second = join("b");
  first->reach_term_limit(first->term());
  ASSERT_TRUE(until_leads(second));
  EXPECT_EQ(first->last<core::Lost>()->reason, LossReason::term_limit);
  second->reach_term_limit(second->term());
  ASSERT_TRUE(until_leads(first));
  EXPECT_EQ(leaders(), (Names{"a", "b", "a"}));
}

TEST_P(Scenario, T14_AloneTheExLeaderLeadsAgainAfterTheCoolDown) {
  const Member member = join("a");
  ASSERT_TRUE(until_leads(member));
  const Term before = member->term();
  member->reach_term_limit(before);
  ASSERT_TRUE(run_until([&] { return member->count<core::Lost>() == 1; }));
  const Instant lost = member->last<core::Lost>()->at;
  ASSERT_TRUE(until_leads(member));
  EXPECT_GT(member->term(), before);
  EXPECT_GE(fixture().now() - lost, lease()) << "the cool-down is one lease";
}

TEST_P(Scenario, R05_ALimitThatFiresLateDoesNotEndTheNextTerm) {
  const Member member = join("a");
  ASSERT_TRUE(until_leads(member));
  const Term before = member->term();
  member->resign();
  ASSERT_TRUE(run_until([&] { return member->count<core::Elected>() == 2; }));
  member->reach_term_limit(before);
  run_for(lease());
  EXPECT_TRUE(member->leads());
  EXPECT_EQ(member->count<core::Lost>(), 1U);
}

TEST_P(Scenario, T07_ACrashedLeaderIsReplaced) {
  Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  const Term old = first->term();
  const Member second = join("b");
  run_for(lease());
  first = {};
  ASSERT_TRUE(until_leads(second));
  EXPECT_GT(second->term(), old);
}

TEST_P(Scenario, T07_AlsoWhenTheFirstInLineCrashesWithIt) {
  Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  Member second = join("b");
  const Member third = join("c");
  first = {};
  second = {};
  EXPECT_TRUE(until_leads(third));
}

TEST_P(Scenario, T08_ACascadeOfStopsLeavesOneLeaderEachTime) {
  std::vector<Member> members;
  for (const char* id : {"a", "b", "c", "d"}) members.push_back(join(id));
  stop_one_leader_after_the_other(members);
  run_for(lease());
  EXPECT_FALSE(inspect(*connect()).leader);
}

TEST_P(Scenario, T09_AMiddleFollowerThatResignsLeavesTheOthersInOrder) {
  const Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  const Member second = join("b");
  const Member third = join("c");
  const Member fourth = join("d");
  third->stop();
  ASSERT_TRUE(until_stopped(third));
  EXPECT_TRUE(first->leads());
  first->stop();
  ASSERT_TRUE(run_until([&] { return second->leads() || fourth->leads(); }));
  const Member& next = second->leads() ? second : fourth;
  const Member& after = second->leads() ? fourth : second;
  next->stop();
  ASSERT_TRUE(until_leads(after));
  if (has(Ability::queues)) {
    EXPECT_EQ(leaders(), (Names{"a", "b", "d"}));
  }
}

TEST_P(Scenario, T11_EndingAnElectionTellsAllWhoRunAndAllWhoJoin) {
  const int half = std::min(500, fixture().rounds(500));
  std::vector<std::shared_ptr<FaultyStore>> stores;
  for (int i = 0; i < 5; ++i) stores.push_back(std::make_shared<FaultyStore>(connect()));
  std::vector<Member> members;
  const auto add = [&](int number) {
    const auto& store = stores[static_cast<std::size_t>(number) % stores.size()];
    members.push_back(make_on(store, "candidate " + std::to_string(number)));
    members.back()->start();
  };
  const auto all = [&](auto question) {
    return std::all_of(members.begin(), members.end(), question);
  };
  for (int i = 0; i < half; ++i) add(i);
  ASSERT_TRUE(run_until([&] {
    return all([](const Member& m) { return m->role() != Role::bootstrap; }) && !leaders().empty();
  }));
  const auto admin = connect();
  EXPECT_TRUE(std::holds_alternative<Done>(end(*admin)));
  for (int i = half; i < 2 * half; ++i) add(i);
  ASSERT_TRUE(run_until([&] {
    return all([](const Member& m) { return m->template count<core::HasStopped>() == 1; });
  }));
  EXPECT_TRUE(
      all([](const Member& m) { return m->template last<core::HasStopped>()->election_ended; }));
  EXPECT_TRUE(inspect(*admin).candidates.empty());
  EXPECT_FALSE(inspect(*admin).leader);
  EXPECT_EQ(leaders().size(), 1U);
}

TEST_P(Scenario, T13_CandidatesLeadInTheOrderInWhichTheyCame) {
  const Names order = {"a", "b", "c", "d", "e"};
  std::vector<Member> members;
  for (const std::string& id : order) members.push_back(join(id));
  Names expected;
  for (int round = 0; round < 2; ++round) {
    for (const Member& member : members) {
      if (!has(Ability::queues)) GTEST_SKIP() << "no order is promised here";
      ASSERT_TRUE(until_leads(member)) << member->id();
      expected.push_back(member->id());
      member->resign();
      ASSERT_TRUE(run_until([&] { return !member->leads(); }));
      // The next round begins where this one began: the ex-leader stands in line again.
      ASSERT_TRUE(run_until([&] { return member->place() != 0 || member->leads(); }));
    }
  }
  Names led = leaders();
  led.resize(expected.size());
  EXPECT_EQ(led, expected);
}

TEST_P(Scenario, R04_ALeaderThatStopsInALivingProcessIsReplacedAtOnce) {
  // Nobody who waits for such a lease to expire comes back in time. Where observers look, that
  // depends on the lease, and so does who may lead on a server that has just been started: there it
  // is one whose end is seen here.
  const bool forever = has(Ability::pushes) && !connect()->traits().reports_age;
  const Duration long_lease = (forever ? 1000 : 10) * lease();
  const auto connect_for_long = [&] {
    return std::make_shared<FaultyStore>(fixture().make_store(long_lease));
  };
  const Member first = make_on(connect_for_long(), "a");
  first->start();
  ASSERT_TRUE(until_leads(first));
  const Member second = make_on(connect_for_long(), "b");
  second->start();
  ASSERT_TRUE(run_until([&] { return second->role() == Role::follower; }));
  const Instant stopped = now();
  first->stop();
  ASSERT_TRUE(until_leads(second));
  EXPECT_EQ(first->role(), Role::stopped);
  EXPECT_LT(now() - stopped, long_lease);
}

TEST_P(Scenario, R06_StartAndStopAgainAndAgain) {
  const Member member = make("a");
  const Member rival = make("b");
  const int rounds = fixture().rounds(10'000);
  for (int round = 1; round <= rounds; ++round) {
    member->start();
    if (round % 3 == 0) rival->start();
    if (round % 2 == 0) {
      ASSERT_TRUE(run_until([&] { return member->role() != Role::bootstrap; }));
    }
    member->stop();
    ASSERT_TRUE(run_until([&] { return member->role() == Role::stopped; }));
    ASSERT_FALSE(member->leads());
    if (round % 3 == 0) rival->stop();
    ASSERT_TRUE(run_until(
        [&] { return member->count<core::HasStopped>() == static_cast<std::size_t>(round); }));
    ASSERT_FALSE(member->leads());
  }
}

TEST_P(Scenario, P03_ARestartedCandidateGetsAHigherTermAndItsPastChangesNothing) {
  Member before = join("a");
  ASSERT_TRUE(until_leads(before));
  const Term old = before->term();
  before = {};
  const Member after = join("a");
  ASSERT_TRUE(until_leads(after));
  EXPECT_GT(after->term(), old);
  const auto store = connect();
  const Bid past = bid("a", 12345);
  renew(*store, renewal(past, old));
  resign(*store, resignation(past, old, true));
  run_for(lease());
  EXPECT_TRUE(after->leads());
  EXPECT_EQ(leaders().size(), 2U);
}

TEST_P(Scenario, P09_AThousandFollowersAndOneWinner) {
  const int followers = fixture().rounds(1000);
  const Member leader = join("leader");
  ASSERT_TRUE(until_leads(leader));
  const auto crowd = std::make_shared<FaultyStore>(connect());
  std::vector<Member> members;
  for (int i = 0; i < followers; ++i) {
    members.push_back(make_on(crowd, "follower " + std::to_string(i)));
    members.back()->start();
  }
  ASSERT_TRUE(run_until([&] {
    return std::all_of(members.begin(), members.end(),
                       [](const Member& m) { return m->role() == Role::follower; });
  }));
  run_for(lease());
  const std::uint64_t before = crowd->count(Verb::campaign);
  leader->stop();
  ASSERT_TRUE(run_until([&] { return leaders().size() == 2; }));
  if (has(Ability::queues)) {
    EXPECT_EQ(leaders().back(), "follower 0");
    // What the hand-over cost the store until it was done.
    EXPECT_LE(crowd->count(Verb::campaign) - before, 3U);
  }
  run_for(2 * lease());
  EXPECT_EQ(leaders().size(), 2U);
  // Nor does it cost more afterwards: the r-th in line looks every r leases, as ever.
  if (has(Ability::pushes) && has(Ability::queues)) {
    EXPECT_LE(crowd->count(Verb::campaign) - before, 40U);
  }
}

}  // namespace
}  // namespace conclave::conformance
