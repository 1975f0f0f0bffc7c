// P08: a callback of each kind calls stop(), resign(), destroys the candidate or the Callbacks.
#include <gtest/gtest.h>

#include <conclave/callbacks.hpp>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

enum class Kind { elected, stopping, lost, follower, leader_changed, error, stopped };
enum class Deed { stop, resign, unhealthy, destroy_candidate, destroy_callbacks, destroy_both };

std::string name(Kind kind) {
  constexpr const char* names[] = {"Elected",       "Stopping", "Lost",   "Follower",
                                   "LeaderChanged", "Error",    "Stopped"};
  return names[static_cast<int>(kind)];
}

std::string name(Deed deed) {
  constexpr const char* names[] = {
      "Stop", "Resign", "Unhealthy", "DestroyCandidate", "DestroyCallbacks", "DestroyBoth"};
  return names[static_cast<int>(deed)];
}

class ReentryTest : public ::testing::TestWithParam<std::tuple<Kind, Deed>> {
 protected:
  // Called by the first callback of the kind.
  void act() {
    if (std::exchange(acted_, true)) return;
    switch (std::get<1>(GetParam())) {
      case Deed::stop: EXPECT_FALSE(me_->stop() && std::get<0>(GetParam()) != Kind::stopped); break;
      case Deed::resign: me_->resign(); break;
      case Deed::unhealthy: me_->healthy(false); break;
      case Deed::destroy_candidate: me_.reset(); break;
      case Deed::destroy_callbacks: callbacks_.reset(); break;
      case Deed::destroy_both:
        callbacks_.reset();
        me_.reset();
        break;
    }
    done_.set();
  }

  void listen_to(Kind kind) {
    switch (kind) {
      case Kind::elected: callbacks_->on_elected([this](const Leadership&) { act(); }); break;
      case Kind::stopping: callbacks_->on_stopping([this](Term, LossReason) { act(); }); break;
      case Kind::lost: callbacks_->on_lost([this](Term, LossReason) { act(); }); break;
      case Kind::follower: callbacks_->on_follower([this] { act(); }); break;
      case Kind::leader_changed:
        callbacks_->on_leader_changed([this](const std::string&, Term) { act(); });
        break;
      case Kind::error: callbacks_->on_error([this](const Error&) { act(); }); break;
      case Kind::stopped: callbacks_->on_stopped([this] { act(); }); break;
    }
  }

  // Brings a callback of that kind about.
  void provoke(Kind kind) {
    if (kind == Kind::follower) leader_.emplace(*rival_.lead());
    const bool from_outside = kind == Kind::stopping || kind == Kind::lost ||
                              kind == Kind::stopped || kind == Kind::error;
    Signal elected;  // told to callbacks: a term that ends before would be skipped
    if (from_outside) callbacks_->on_elected([&](const Leadership&) { elected.set(); });
    me_->start();
    if (!from_outside) return;
    ASSERT_TRUE(elected.wait());
    if (kind == Kind::stopped) {
      me_->request_stop();
    } else if (kind == Kind::error) {
      me_->report({ErrorCode::work_failed, "a test", false, false});
    } else {
      me_->resign();
    }
  }

  World world_;
  Candidate rival_{world_.store(), "reports", {.id = "rival", .cool_down = 1ms}};
  std::optional<Leadership> leader_;
  Signal done_;
  bool acted_ = false;
  std::shared_ptr<Store> store_ = world_.store();
  std::unique_ptr<Candidate> me_ =
      std::make_unique<Candidate>(store_, "reports", Options{.id = "me"});
  std::shared_ptr<EventQueue> events_ = me_->subscribe();
  std::unique_ptr<Callbacks> callbacks_ = std::make_unique<Callbacks>(*me_);
};

TEST_P(ReentryTest, P08NeitherHangsNorUsesWhatIsGone) {
  const auto [kind, deed] = GetParam();
  listen_to(kind);
  provoke(kind);
  ASSERT_TRUE(done_.wait());
  // Whatever the deed: once all is stopped, the place is free.
  const bool is_gone = deed == Deed::destroy_candidate || deed == Deed::destroy_both;
  if (is_gone) {
    EXPECT_TRUE(await(*events_, EventKind::stopped)) << "the last events follow";
  } else {
    EXPECT_TRUE(me_->stop());
    EXPECT_FALSE(me_->is_leader());
  }
  leader_.reset();
  EXPECT_TRUE(rival_.lead());
}

INSTANTIATE_TEST_SUITE_P(
    All, ReentryTest,
    ::testing::Combine(::testing::Values(Kind::elected, Kind::stopping, Kind::lost, Kind::follower,
                                         Kind::leader_changed, Kind::error, Kind::stopped),
                       ::testing::Values(Deed::stop, Deed::resign, Deed::unhealthy,
                                         Deed::destroy_candidate, Deed::destroy_callbacks,
                                         Deed::destroy_both)),
    [](const auto& each) {
      return name(std::get<1>(each.param)) + "In" + name(std::get<0>(each.param));
    });

TEST(Reentry, P08TheLastEventsFollowTheCallbackThatStops) {
  World world;
  Candidate me(world.store(), "reports");
  std::string told;
  Signal over;
  Callbacks callbacks(me);
  callbacks
      .on_elected([&](const Leadership&) {
        EXPECT_FALSE(me.stop());
        told += "elected ";
      })
      .on_stopping([&](Term, LossReason) { told += "stopping "; })
      .on_lost([&](Term, LossReason) { told += "lost "; })
      .on_stopped([&] {
        told += "stopped";
        over.set();
      });
  me.start();
  ASSERT_TRUE(over.wait());
  EXPECT_TRUE(me.stop());
  EXPECT_EQ(told, "elected stopping lost stopped");
}

TEST(Reentry, P08ACallbackStartsItAnew) {
  World world;
  Candidate me(world.store(), "reports");
  Count elections;
  Callbacks callbacks(me);
  callbacks.on_elected([&](const Leadership&) { elections.add(); }).on_stopped([&] {
    if (elections.value() < 5) me.start();
  });
  me.start();
  for (int turn = 1; turn <= 5; ++turn) {
    ASSERT_TRUE(elections.reach(turn));
    me.request_stop();
  }
  EXPECT_TRUE(me.stop());
}

TEST(Reentry, P08TheCallbackOfLeadDestroysTheCandidate) {
  World world;
  auto store = world.store();
  for (int turn = 0; turn < 100; ++turn) {
    auto me = std::make_unique<Candidate>(store, "reports");
    const auto events = me->subscribe();
    std::stop_source stop;
    Signal done;
    me->lead(stop.get_token(), [&](std::optional<Leadership> term) {
      EXPECT_TRUE(term);
      term.reset();
      me.reset();
      done.set();
    });
    ASSERT_TRUE(done.wait());
    EXPECT_TRUE(await(*events, EventKind::stopped));
  }
}

TEST(Reentry, P08OneCandidateIsStoppedInTheCallbackOfAnother) {
  World world;
  Candidate one(world.store(), "reports");
  Candidate two(world.store(), "letters");
  two.start();
  Signal done;
  Callbacks callbacks(one);
  callbacks.on_elected([&](const Leadership&) {
    EXPECT_TRUE(two.stop()) << "there it waits as anywhere";
    EXPECT_FALSE(two.is_leader());
    done.set();
  });
  one.start();
  EXPECT_TRUE(done.wait());
}

}  // namespace
}  // namespace conclave::rig
