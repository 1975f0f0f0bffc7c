// Where user code runs, and the log.
#include <gtest/gtest.h>

#include <atomic>

#include <conclave/callbacks.hpp>

#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

// But for stop tokens: see stopping_test.cpp.
TEST(ExecutorTest, AllUserCodeRunsThereAndNowhereElse) {
  World world;
  const Host host;
  std::atomic<int> elsewhere{0};
  std::atomic<int> here{0};
  const auto note = [&] {
    (std::this_thread::get_id() == host.executor->id() ? here : elsewhere) += 1;
  };
  Candidate rival(world.store(), "reports", {.id = "rival"});
  auto held = rival.lead();
  Candidate me(world.store(), "reports",
               {.id = "me", .executor = host.executor, .log = [&](const LogRecord&) { note(); }});
  Signal elected;
  Signal asked;
  {
    Callbacks callbacks(me);
    callbacks
        .on_elected([&](const Leadership& term) {
          note();
          elected.set();
          static_cast<void>(term);
        })
        .on_stopping([&](Term, LossReason) { note(); })
        .on_lost([&](Term, LossReason) { note(); })
        .on_follower(note)
        .on_leader_changed([&](const std::string&, Term) { note(); })
        .on_error([&](const Error&) { note(); })
        .on_stopped(note);
    me.start();
    ASSERT_TRUE(await(me.events(), EventKind::follower));
    held.reset();
    ASSERT_TRUE(elected.wait());
    auto work = me.leadership();
    ASSERT_TRUE(work);
    const std::stop_callback callback(work->stopping(), [&] { asked.set(); });
    me.report({ErrorCode::work_failed, "a test", false, false});
    me.executor().post(note);
    me.request_stop();
    ASSERT_TRUE(asked.wait());
    work.reset();
    EXPECT_TRUE(me.stop());
  }
  me.lead({}, [&](std::optional<Leadership>) {
    note();
    asked.set();
  });
  EXPECT_TRUE(me.stop());
  EXPECT_EQ(elsewhere, 0);
  EXPECT_GE(here, 14);
}

TEST(ExecutorTest, WithoutOneItIsAPoolAndNeverTheLoop) {
  World world;
  auto store = world.store();
  std::thread::id loop;
  Signal known;
  store->executor().post([&] {
    loop = std::this_thread::get_id();
    known.set();
  });
  ASSERT_TRUE(known.wait());
  Candidate me(store, "reports");
  Signal done;
  Callbacks callbacks(me);
  callbacks.on_elected([&](const Leadership& term) {
    EXPECT_NE(std::this_thread::get_id(), loop);
    const std::stop_callback callback(term.stopping(), [&] {
      EXPECT_NE(std::this_thread::get_id(), loop);
      done.set();
    });
    me.resign();
    EXPECT_TRUE(done.wait()) << "the token fires beside a callback that waits for it";
  });
  me.start();
  EXPECT_TRUE(done.wait());
  EXPECT_TRUE(me.stop());
}

TEST(ExecutorTest, TasksOfOneCandidateRunOneAfterAnother) {
  World world;
  Candidate me(world.store(), "reports");
  std::atomic<int> inside{0};
  std::atomic<int> broken{0};
  int last = 0;
  Count ran;
  for (int i = 1; i <= 1000; ++i) {
    me.executor().post([&, i] {
      if (inside.fetch_add(1) != 0 || last + 1 != i) ++broken;
      last = i;
      inside -= 1;
      ran.add();
    });
  }
  EXPECT_TRUE(ran.reach(1000));
  EXPECT_EQ(broken, 0);
}

TEST(ExecutorTest, TasksOfSeveralCandidatesDoNotWaitForEachOther) {
  World world;
  auto store = world.store();
  Candidate one(store, "reports");
  Candidate two(store, "letters");
  Signal first;
  Signal second;
  one.executor().post([&] {
    EXPECT_TRUE(second.wait());
    first.set();
  });
  two.executor().post([&] { second.set(); });
  EXPECT_TRUE(first.wait());
}

TEST(ExecutorTest, ATaskMayBeForLater) {
  World world;
  auto store = world.store();
  Candidate me(store, "reports");
  Signal done;
  std::atomic<bool> early{false};
  const Instant when = store->clock().now() + 20ms;
  me.executor().post_at(when, [&] {
    early = store->clock().now() < when;
    done.set();
  });
  EXPECT_TRUE(done.wait());
  EXPECT_FALSE(early);
}

TEST(LogTest, HasEveryEventInOrderWithItsParts) {
  ManualWorld world;
  const auto store = world.store();
  std::vector<LogRecord> records;
  Candidate me(store, "reports",
               {.id = "me", .executor = world.desk, .log = [&](const LogRecord& record) {
                  records.push_back(record);
                }});
  me.start();
  world.settle();
  me.report({ErrorCode::denied, "wrong password", false, false});
  me.resign();
  world.settle();
  world.stop(me);
  std::string text;
  for (const LogRecord& record : records) {
    (text += to_string(record.level)) += ": " + record.message + " [";
    for (const auto& [name, value] : record.fields) {
      if (name == "election") {
        EXPECT_EQ(value, "reports");
      } else if (name == "candidate") {
        EXPECT_EQ(value, "me");
      } else {
        ((text += name) += "=") += value + ";";
      }
    }
    text += "]\n";
  }
  EXPECT_EQ(text,
            "info: started as a candidate [event=started;]\n"
            "info: became leader, term 1 [event=elected;term=1;]\n"
            "info: me leads, term 1 [event=leader_changed;term=1;leader=me;]\n"
            "error: wrong password [event=error;code=denied;]\n"
            "info: is giving up term 1: resigned [event=stopping;term=1;reason=resigned;]\n"
            "info: lost leadership, term 1: resigned [event=lost;term=1;reason=resigned;]\n"
            "info: nobody leads [event=leader_changed;term=1;leader=;]\n"
            "info: is a follower [event=follower;]\n"
            "info: stopped [event=stopped;]\n");
}

TEST(LogTest, WarnsOfWhatAPersonShouldKnow) {
  const auto level = [](const Event& event) { return to_log(event, "e", "c").level; };
  EXPECT_EQ(level({.kind = EventKind::extended}), LogLevel::debug);
  EXPECT_EQ(level({.kind = EventKind::jeopardy}), LogLevel::warning);
  EXPECT_EQ(level({.kind = EventKind::lost, .reason = LossReason::stopped}), LogLevel::info);
  EXPECT_EQ(level({.kind = EventKind::lost, .reason = LossReason::term_limit}), LogLevel::info);
  EXPECT_EQ(level({.kind = EventKind::lost, .reason = LossReason::lease_expired}),
            LogLevel::warning);
  const Error passing{ErrorCode::timed_out, "", true, true};
  const Error lasting{ErrorCode::denied, "", false, false};
  EXPECT_EQ(level({.kind = EventKind::error, .error = passing}), LogLevel::warning);
  EXPECT_EQ(level({.kind = EventKind::error, .error = lasting}), LogLevel::error);
  EXPECT_EQ(to_log({.kind = EventKind::error}, "e", "c").message, "an error");
}

TEST(LogTest, ASinkThatThrowsIsHarmless) {
  World world;
  std::atomic<int> calls{0};
  Candidate me(world.store(), "reports", {.log = [&](const LogRecord&) {
                 calls += 1;
                 throw std::runtime_error("the disk is full");
               }});
  auto& events = me.events();
  me.start();
  EXPECT_TRUE(await(events, EventKind::elected));
  EXPECT_TRUE(me.stop());
  EXPECT_GE(calls, 5) << "and it is called for the next ones";
  EXPECT_EQ(me.snapshot().counters.failed(ErrorCode::work_failed), 0U);
}

TEST(LogTest, HasTheLastRecordsOfACandidateThatADestructorStops) {
  World world;
  auto last = std::make_shared<std::string>();
  {
    Candidate me(world.store(), "reports",
                 {.log = [last](const LogRecord& record) { *last = record.message; }});
    me.start();
    EXPECT_TRUE(await(me.events(), EventKind::elected));
  }
  EXPECT_EQ(*last, "stopped");
}

}  // namespace
}  // namespace conclave::rig
