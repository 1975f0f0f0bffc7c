// run_checks(): a call on every check, by role.
#include <conclave/checks.hpp>

#include <gtest/gtest.h>

#include <atomic>

#include <conclave/admin.hpp>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

Check counting(Count& count) {
  return [&count]() -> std::optional<Error> {
    count.add();
    return std::nullopt;
  };
}

TEST(ChecksTest, CallsTheCheckOfTheRole) {
  World world;
  Candidate rival(world.store(), "reports", {.id = "rival"});
  auto held = rival.lead();
  Candidate me(world.store(), "reports", {.id = "me"});
  Count leads;
  Count follows;
  const Checks checks{.leader_interval = 1ms,
                      .follower_interval = 1ms,
                      .on_leader_check = [&]() -> std::optional<Error> {
                        EXPECT_TRUE(me.is_leader());
                        leads.add();
                        return std::nullopt;
                      },
                      .on_follower_check = counting(follows)};
  std::jthread runner([&](const std::stop_token& stop) {
    EXPECT_FALSE(run_checks(me, stop, checks));
    EXPECT_EQ(me.role(), Role::stopped);
  });
  EXPECT_TRUE(follows.reach(3));
  EXPECT_EQ(leads.value(), 0);
  held.reset();
  EXPECT_TRUE(leads.reach(3));
}

// Intervals of a day: what is called is called because the role is known, or has changed.
TEST(ChecksTest, TheFirstComesWhenTheRoleIsKnownAndOthersWhenItChanges) {
  World world;
  Candidate rival(world.store(), "reports", {.id = "rival"});
  auto held = rival.lead();
  const auto store = world.faulty_store();
  store->freeze();
  Candidate me(store, "reports", {.id = "me"});
  Count leads;
  Count follows;
  const Checks checks{.leader_interval = Duration::max(),
                      .follower_interval = 24h,
                      .on_leader_check = counting(leads),
                      .on_follower_check = counting(follows)};
  std::jthread runner(
      [&](const std::stop_token& stop) { EXPECT_FALSE(run_checks(me, stop, checks)); });
  const auto events = me.subscribe();
  ASSERT_TRUE(await(*events, EventKind::error)) << "the store does not answer";
  EXPECT_EQ(follows.value(), 0);
  store->heal();
  EXPECT_TRUE(follows.reach(1));
  held.reset();
  EXPECT_TRUE(leads.reach(1));
  me.resign();
  EXPECT_TRUE(follows.reach(2));
}

TEST(ChecksTest, AnErrorEndsThemAndReleasesThePlace) {
  World world;
  Candidate me(world.store(), "reports", {.id = "a"});
  const Checks checks{.on_leader_check = [] {
    return std::optional<Error>({ErrorCode::work_failed, "the disk is full", false, false});
  }};
  const auto error = run_checks(me, {}, checks);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "the disk is full");
  EXPECT_EQ(me.role(), Role::stopped);
  EXPECT_FALSE(me.is_leader());
  const auto left = inspect(*world.store(), "reports");
  ASSERT_TRUE(left);
  EXPECT_FALSE(left->leader) << "free when it returns";
}

TEST(ChecksTest, WhatACheckThrowsIsAnError) {
  World world;
  Candidate me(world.store(), "reports");
  const auto error = run_checks(me, {}, {.on_leader_check = []() -> std::optional<Error> {
                                  throw std::runtime_error("no paper");
                                }});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, ErrorCode::work_failed);
  EXPECT_EQ(error->message, "the leader's check threw: no paper");
}

TEST(ChecksTest, TheyGoOnAfterAnErrorWhereThatIsWanted) {
  World world;
  Candidate me(world.store(), "reports");
  auto& events = me.events();
  Count checked;
  const Checks checks{.leader_interval = 1ms,
                      .on_leader_check = [&]() -> std::optional<Error> {
                        checked.add();
                        return Error{ErrorCode::work_failed, "out of paper", false, false};
                      },
                      .end_on_error = false};
  std::jthread runner(
      [&](const std::stop_token& stop) { EXPECT_FALSE(run_checks(me, stop, checks)); });
  const auto error = await(events, EventKind::error);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->error->message, "out of paper");
  EXPECT_TRUE(checked.reach(5));
  EXPECT_TRUE(me.is_leader());
}

TEST(ChecksTest, AnIntervalOfNothingIsRefused) {
  World world;
  Candidate me(world.store(), "reports");
  for (const Duration bad : {Duration{0}, Duration{-1s}, Duration::min()}) {
    try {
      run_checks(me, {}, {.leader_interval = bad});
      ADD_FAILURE();
    } catch (const std::invalid_argument& refused) {
      EXPECT_TRUE(std::string(refused.what()).starts_with("leader_interval")) << refused.what();
    }
    EXPECT_THROW(run_checks(me, {}, {.follower_interval = bad}), std::invalid_argument);
  }
  me.start();
  EXPECT_THROW(run_checks(me, {}, {}), InvalidState);
  EXPECT_TRUE(me.stop()) << "it is left as it was";
}

TEST(ChecksTest, TheyEndWhenTheCandidateIsStoppedOrTheElectionEnded) {
  World world;
  auto store = world.store();
  Candidate me(store, "reports");
  Count checked;
  const Checks checks{.on_leader_check = counting(checked)};
  {
    std::jthread runner([&] { EXPECT_FALSE(run_checks(me, {}, checks)); });
    ASSERT_TRUE(checked.reach(1));
    me.request_stop();
  }
  {
    std::jthread runner([&] { EXPECT_FALSE(run_checks(me, {}, checks)); });
    ASSERT_TRUE(checked.reach(2));
    EXPECT_TRUE(*end(*store, "reports"));
  }
  EXPECT_EQ(checked.value(), 2);
}

// An error that is reported after the stop does not hide it.
TEST(ChecksTest, TheyEndAlsoWhenTheStopIsNotTheLastEvent) {
  World world;
  Candidate me(world.store(), "reports");
  const auto error =
      run_checks(me, {}, {.leader_interval = 24h, .on_leader_check = [&] {
                            EXPECT_TRUE(me.stop());
                            me.report({ErrorCode::work_failed, "late", false, false});
                            return std::optional<Error>{};
                          }});
  EXPECT_FALSE(error);
}

TEST(ChecksTest, WithATokenThatHasFiredNothingIsChecked) {
  World world;
  Candidate me(world.store(), "reports");
  std::stop_source stop;
  stop.request_stop();
  Count checked;
  EXPECT_FALSE(run_checks(me, stop.get_token(), {.on_leader_check = counting(checked)}));
  EXPECT_EQ(checked.value(), 0);
  EXPECT_EQ(me.role(), Role::stopped);
}

}  // namespace
}  // namespace conclave::rig
