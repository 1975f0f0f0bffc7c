// Redis loses or spoils its data, its scripts, its memory or its connections under a live leader.
#include "conformance/redis_faults.hpp"
#include "stores/redis/keys.hpp"

namespace conclave::conformance {
namespace {

std::unique_ptr<StoreFixture> make_shared_rig() { return std::make_unique<RedisFixture>(); }

class RedisData : public RedisFaults {
 protected:
  void TearDown() override {
    server().command({"CONFIG", "SET", "maxmemory", "0"});
    server().command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
    RedisFaults::TearDown();
  }

  void limit_memory(const std::string& policy) {
    server().command({"CONFIG", "SET", "maxmemory-policy", policy});
    server().command({"CONFIG", "SET", "maxmemory", std::to_string(used_memory() + 2'000'000)});
  }
  [[nodiscard]] long used_memory() { return std::stol(server().info("memory", "used_memory")); }
  [[nodiscard]] bool has_record() { return server().command({"EXISTS", record}).number == 1; }

  [[nodiscard]] bool until_leader_listens() {
    const std::string channel = redis::leader_channel(std::string(record), lease());
    return run_until([&] {
      return server().command({"PUBSUB", "NUMSUB", channel}).elements[1].number == 1;
    });
  }

  // Somebody else's data. False when the server takes no more.
  bool fill_some(int round) {
    servers::RedisClient client = server().client();
    for (int i = 0; i < 50; ++i) {
      const std::string name = "filler " + std::to_string(round) + " " + std::to_string(i);
      if (client.ask({"SET", name, std::string(10'000, 'x')}).kind == servers::Reply::Kind::error) {
        return false;
      }
    }
    return true;
  }

  // The leader, one who follows it, and one who comes when the record is gone.
  void expect_survives(const std::function<void()>& loss) {
    const Member leader = join("a");
    ASSERT_TRUE(until_leads(leader));
    const Term term = leader->term();
    const Member follower = join("b");
    ASSERT_TRUE(until_follows(follower, "a"));
    ASSERT_TRUE(until_renewed(leader));
    loss();
    const Member fresh = join("c");
    EXPECT_EQ(fresh->role(), Role::follower);
    expect_kept(leader, term);
    EXPECT_TRUE(until_follows(fresh, "a"));
    leader->stop();
    ASSERT_TRUE(run_until([&] { return follower->leads() || fresh->leads(); }));
    EXPECT_GT(std::max(follower->term(), fresh->term()), term);
  }
};

TEST_P(RedisData, R02_AWipeUnderTheLeaderIsRepairedAndAFreshCandidateWaits) {
  expect_survives([&] { server().command({"FLUSHALL"}); });
}

TEST_P(RedisData, R02_ADeletedRecordIsWrittenAnew) {
  expect_survives([&] { server().command({"DEL", record}); });
}

TEST_P(RedisData, R02_ALostQueueIsStoodInAgain) {
  expect_survives([&] {
    server().command({"DEL", std::string(record) + ":queue", std::string(record) + ":waiting"});
  });
}

TEST_P(RedisData, R02_WhoeverStandsFirstDoesNotTakeAPlaceWhoseLeaderListens) {
  const auto leader = connect();
  const auto fresh = connect();
  const Granted grant = granted(*leader, bid("a", 1));
  ASSERT_TRUE(until_leader_listens());
  server().command({"FLUSHALL"});
  EXPECT_FALSE(held(*fresh, bid("b", 2)).record);
  EXPECT_TRUE(std::holds_alternative<Renewed>(renew(*leader, renewal(bid("a", 1), grant.term))));
  EXPECT_EQ(held(*fresh, bid("b", 2)).record.value_or(Record{}).term, grant.term);
}

TEST_P(RedisData, R02_WhoeverHasWaitedBeforeWaitsAgain) {
  const auto leader = connect();
  const auto fresh = connect();
  const Granted grant = granted(*leader, bid("a", 1));
  ASSERT_TRUE(until_leader_listens());
  server().command({"FLUSHALL"});
  EXPECT_FALSE(held(*fresh, bid("b", 2)).record);
  // The leader goes on for some leases, and it happens again.
  for (int i = 0; i < 8; ++i) {
    run_for(lease() / 4);
    ASSERT_TRUE(std::holds_alternative<Renewed>(renew(*leader, renewal(bid("a", 1), grant.term))));
  }
  server().command({"FLUSHALL"});
  EXPECT_FALSE(held(*fresh, bid("c", 3)).record);
}

TEST_P(RedisData, R02_ALeaderThatOnlyListensIsNotWaitedForForever) {
  const auto leader = connect();
  static_cast<void>(granted(*leader, bid("a", 1)));  // and never renewed
  ASSERT_TRUE(until_leader_listens());
  server().command({"FLUSHALL"});
  const Member fresh = join("b");
  EXPECT_EQ(fresh->role(), Role::follower);
  EXPECT_TRUE(until_leads(fresh));
}

TEST_P(RedisData, R02_AReservationIsNotWrittenAnew) {
  const auto store = connect();
  const Granted grant = granted(*store, bid("a", 1));
  server().command({"DEL", record});
  Renewal unsure = renewal(bid("a", 1), grant.term);
  unsure.valid = false;
  const auto answer = renew(*store, unsure);
  ASSERT_TRUE(std::holds_alternative<TermLost>(answer));
  EXPECT_EQ(std::get<TermLost>(answer).why, LossReason::record_gone);
  EXPECT_FALSE(has_record());
}

TEST_P(RedisData, R02_ATermThatEndedIsNotWrittenAnewByALateRenewal) {
  const auto store = connect();
  const Granted grant = granted(*store, bid("a", 1));
  const Granted next = [&] {
    EXPECT_TRUE(
        std::holds_alternative<Done>(resign(*store, resignation(bid("a", 1), grant.term, true))));
    return granted(*store, bid("b", 2));
  }();
  const auto late = renew(*store, renewal(bid("a", 1), grant.term));
  ASSERT_TRUE(std::holds_alternative<TermLost>(late));
  EXPECT_EQ(std::get<TermLost>(late).why, LossReason::superseded);
  // Also where it is the older one's turn by the number of its attempt only.
  const auto stale = renew(*store, renewal(bid("a", 1), next.term));
  ASSERT_TRUE(std::holds_alternative<TermLost>(stale));
  EXPECT_EQ(std::get<TermLost>(stale).why, LossReason::record_gone);
  EXPECT_EQ(inspect(*store).leader.value_or(Record{}).leader, "b");
  EXPECT_TRUE(
      std::holds_alternative<Gone>(resign(*store, resignation(bid("a", 1), grant.term, true))));
  EXPECT_EQ(inspect(*store).leader.value_or(Record{}).leader, "b");
}

TEST_P(RedisData, R02_WhatWasWrittenAnewIsNeverReleased) {
  const auto store = connect();
  const Granted grant = granted(*store, bid("a", 1));
  server().command({"DEL", record});
  ASSERT_TRUE(std::holds_alternative<Renewed>(renew(*store, renewal(bid("a", 1), grant.term))));
  EXPECT_TRUE(
      std::holds_alternative<Done>(resign(*store, resignation(bid("a", 1), grant.term, true))));
  EXPECT_EQ(inspect(*store).vacancy, Vacancy::abandoned);
}

TEST_P(RedisData, R02_AnEvictedRecordIsWrittenAnew) {
  expect_survives([&] {
    limit_memory("allkeys-random");
    bool evicted = false;
    for (int round = 0; !evicted && round < 1000; ++round) {
      fill_some(round);
      evicted = !has_record();
    }
    EXPECT_TRUE(evicted);
  });
}

TEST_P(RedisData, AFullServerCostsNobodyItsTermAndHandsOver) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  limit_memory("noeviction");
  for (int round = 0; round < 1000 && fill_some(round); ++round) {
  }
  ASSERT_FALSE(fill_some(0));
  const Member follower = join("b");
  expect_kept(leader, term);
  leader->stop();
  ASSERT_TRUE(until_leads(follower));
  EXPECT_EQ(leader->count<core::Failed>() + follower->count<core::Failed>(), 0U);
}

TEST_P(RedisData, R02_WhatSomebodyElsePutInItsPlaceIsNotTouched) {
  CandidateOptions stubborn;
  stubborn.work_ends = false;
  const Member leader = join("a", stubborn);
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join("b");
  ASSERT_TRUE(until_renewed(leader));
  const Instant deadline = leader->deadline();
  server().command({"SET", record, "precious"});
  ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; }));
  EXPECT_EQ(leader->last<core::Lost>()->reason, LossReason::lease_expired);
  EXPECT_EQ(leader->last<core::Lost>()->at, deadline);
  const Error said = leader->last<core::Failed>().value_or(core::Failed{}).error;
  EXPECT_EQ(said.code, ErrorCode::corrupt);
  EXPECT_NE(said.message.find(record), std::string::npos) << said.message;
  leader->end_work();
  run_for(2 * lease());
  EXPECT_FALSE(leader->leads() || follower->leads());
  EXPECT_EQ(follower->last<core::Failed>().value_or(core::Failed{}).error.code, ErrorCode::corrupt);
  EXPECT_EQ(server().command({"GET", record}).text, "precious");
  server().command({"DEL", record});
  ASSERT_TRUE(run_until([&] { return leader->leads() || follower->leads(); }));
  EXPECT_GT(std::max(leader->term(), follower->term()), term);
}

TEST_P(RedisData, R02_WhatIsInTheWayForAMomentCostsNothing) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  ASSERT_TRUE(until_renewed(leader));
  server().command({"SET", record, "precious"});
  ASSERT_TRUE(run_until([&] { return leader->count<core::Jeopardy>() > 0; }));
  server().command({"DEL", record});
  expect_kept(leader, term);
}

TEST_P(RedisData, T05_AFlushedScriptCacheIsNotNoticed) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join("b");
  for (int i = 0; i < 5; ++i) {
    server().command({"SCRIPT", "FLUSH"});
    ASSERT_TRUE(until_renewed(leader));
  }
  expect_kept(leader, term);
  server().command({"SCRIPT", "FLUSH"});
  leader->stop();
  ASSERT_TRUE(until_leads(follower));
  ASSERT_TRUE(until_stopped(leader));
  EXPECT_EQ(leader->count<core::Failed>() + follower->count<core::Failed>(), 0U);
}

TEST_P(RedisData, KilledConnectionsCostNobodyItsTermOrItsWakeUp) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join("b");
  for (int i = 0; i < 5; ++i) {
    server().command({"CLIENT", "KILL", "TYPE", "normal"});
    server().command({"CLIENT", "KILL", "TYPE", "pubsub"});
    ASSERT_TRUE(until_renewed(leader));
  }
  expect_kept(leader, term);
  ASSERT_TRUE(until_leader_listens());
  leader->stop();
  ASSERT_TRUE(until_leads(follower));
}

TEST_P(RedisData, ABusyServerCostsNobodyItsTerm) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  ASSERT_TRUE(until_renewed(leader));
  server().command({"CONFIG", "SET", "busy-reply-threshold", "1"});
  const Instant until = now() + lease() / 4;
  auto hog = std::async(std::launch::async, [&] {
    return server().ask({"EVAL", "while true do end", "0"}).text;
  });
  run_for(until - now());
  server().command({"SCRIPT", "KILL"});
  EXPECT_NE(hog.get().find("killed"), std::string::npos);
  server().command({"CONFIG", "SET", "busy-reply-threshold", "5000"});
  expect_kept(leader, term);
}

TEST_P(RedisData, CLIENT_PAUSE_LongerThanTheLeaseEndsTheTermByTheOwnClock) {
  const Member leader = join("a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  const Member follower = join("b");
  ASSERT_TRUE(until_renewed(leader));
  const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(2 * lease());
  server().command({"CLIENT", "PAUSE", std::to_string(pause.count()), "ALL"});
  const Instant paused = now();
  ASSERT_TRUE(run_until([&] { return leader->count<core::Lost>() == 1; }));
  EXPECT_EQ(leader->last<core::Lost>()->reason, LossReason::lease_expired);
  EXPECT_LE(leader->last<core::Lost>()->at, paused + lease());
  ASSERT_TRUE(run_until([&] { return leader->leads() || follower->leads(); }));
  EXPECT_GT(std::max(leader->term(), follower->term()), term);
}

INSTANTIATE_TEST_SUITE_P(redis, RedisData, ::testing::Values(MakeFixture{make_shared_rig}),
                         [](const auto&) { return "redis"; });

}  // namespace
}  // namespace conclave::conformance
