// What candidates promise to those who use them, with a real PostgreSQL below: the scenarios that
// the other tests here show on `memory:`.
#include <gtest/gtest.h>

#include <conclave/admin.hpp>
#include <conclave/callbacks.hpp>
#include <conclave/run.hpp>

#include "runtime/postgres_rig.hpp"
#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

class PostgresUse : public OnPostgres {
 protected:
  // As the store tells it to anybody.
  [[nodiscard]] Inspection seen() const {
    const auto found = inspect(*admin_, "reports", hang_guard);
    EXPECT_TRUE(found) << found.error().message;
    return found ? *found : Inspection{};
  }

 private:
  const std::shared_ptr<Store> admin_ = store();
};

TEST_P(PostgresUse, T16RunTwiceIsAnInvalidStateAndACancelledRunFreesThePlace) {
  Candidate me(store(), "reports", {.id = "a"});
  Candidate other(store(), "reports", {.id = "b"});
  Signal leads;
  std::jthread runner([&](const std::stop_token& stop) {
    run(me, stop, [&](const Leadership& term) {
      EXPECT_THROW(run(me, {}, [](const Leadership&) { ADD_FAILURE(); }), InvalidState);
      leads.set();
      EXPECT_TRUE(fires(term.stopping()));
    });
  });
  ASSERT_TRUE(leads.wait());
  runner.request_stop();
  const auto term = other.lead();
  ASSERT_TRUE(term);
  const auto leader = seen().leader;
  ASSERT_TRUE(leader);
  EXPECT_EQ(leader->leader, "b");
}

TEST_P(PostgresUse, T16WorkThatThrowsIsReportedAndFreesThePlace) {
  Candidate me(store(), "reports", {.id = "a"});
  Candidate other(store(), "reports", {.id = "b"});
  auto& events = me.events();
  std::stop_source stop;
  int terms = 0;
  std::jthread runner([&] {
    run(me, stop.get_token(), [&](const Leadership&) {
      if (++terms == 1) throw std::runtime_error("out of paper");
      stop.request_stop();
    });
  });
  const auto error = await(events, EventKind::error);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->error->code, ErrorCode::work_failed);
  { EXPECT_TRUE(other.lead()) << "the place is free at once"; }
  EXPECT_TRUE(other.stop());
  runner.join();
  EXPECT_EQ(terms, 2);
}

TEST_P(PostgresUse, T18WhatTheStoreTellsFitsTheTerm) {
  Candidate me(store(), "reports", {.id = "me", .metadata = "10.0.0.7:80"});
  auto& events = me.events();
  std::string told;
  Callbacks callbacks(me);
  for (const char digit : {'1', '2', '3'}) {
    callbacks.on_elected([&, digit](const Leadership&) { (told += " elected") += digit; })
        .on_lost([&, digit](Term, LossReason) { (told += " lost") += digit; })
        .on_stopped([&, digit] { (told += " stopped") += digit; });
  }
  Signal elected;
  callbacks.on_elected([&](const Leadership& term) {
    EXPECT_TRUE(term.valid());
    EXPECT_EQ(me.snapshot().leader, "me");
    elected.set();
  });
  EXPECT_EQ(seen().leader, std::nullopt);
  me.start();
  ASSERT_TRUE(elected.wait());
  const auto leader = seen().leader;
  ASSERT_TRUE(leader);
  EXPECT_EQ(leader->leader, "me");
  EXPECT_EQ(leader->metadata, "10.0.0.7:80");
  EXPECT_EQ(leader->term, me.snapshot().term);
  EXPECT_TRUE(me.stop());
  EXPECT_TRUE(await(events, EventKind::lost));
  EXPECT_EQ(seen().leader, std::nullopt);
  EXPECT_EQ(seen().last_term, leader->term);
  EXPECT_EQ(told, " elected1 elected2 elected3 lost1 lost2 lost3 stopped1 stopped2 stopped3");
}

TEST_P(PostgresUse, T14ATermLimitHandsOverToTheOtherAndBack) {
  const Options limited{.id = "a", .term_limit = short_lease};
  Options others = limited;
  others.id = "b";
  Candidate one(store(short_lease), "reports", limited);
  Candidate two(store(short_lease), "reports", others);
  EventQueue& of_one = one.events();
  EventQueue& of_two = two.events();
  one.start();
  auto elected = await(of_one, EventKind::elected);
  ASSERT_TRUE(elected);
  two.start();
  // In turn: who has handed over sits out until it has seen another leader.
  for (EventQueue* next : {&of_two, &of_one, &of_two}) {
    const auto after = await(*next, EventKind::elected);
    ASSERT_TRUE(after);
    EXPECT_GT(after->term, elected->term);
    elected = after;
  }
  const auto lost = await(of_one, EventKind::lost);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->reason, LossReason::term_limit);
}

TEST_P(PostgresUse, T18ASlowCallbackDelaysNoRenewal) {
  Candidate me(store(short_lease), "reports", {.id = "me"});
  auto& events = me.events();
  Signal goes_on;
  Callbacks callbacks(me);
  callbacks.on_elected([&](const Leadership& term) {
    EXPECT_TRUE(goes_on.wait());
    EXPECT_TRUE(term.valid());
  });
  me.start();
  const auto elected = await(events, EventKind::elected);
  ASSERT_TRUE(elected);
  // The term lives longer than two leases, all that time within the callback.
  auto extended = await(events, EventKind::extended);
  while (extended && extended->valid_until < elected->at + 3 * short_lease) {
    extended = await(events, EventKind::extended);
  }
  EXPECT_TRUE(extended);
  EXPECT_EQ(me.snapshot().counters.terms, 1U);
  goes_on.set();
}

TEST_P(PostgresUse, R07NobodyReads) {
  Candidate me(store(), "reports", {.id = "me", .cool_down = 1ms});
  const auto unread = me.subscribe(16);
  auto& events = me.events();
  me.start();
  for (int turn = 0; turn < 20; ++turn) {
    ASSERT_TRUE(await(events, EventKind::elected));
    me.resign();
  }
  ASSERT_TRUE(await(events, EventKind::elected));
  EXPECT_GT(unread->missed(), 0U);
  const auto newest = drain(*unread);
  EXPECT_LE(newest.size(), 16U);
  EXPECT_TRUE(alternates(newest));
  Term present{};
  for (const Event& event : newest) {
    if (event.kind == EventKind::elected) present = event.term;
    if (event.kind == EventKind::lost) present = {};
  }
  EXPECT_EQ(present, me.snapshot().term);
  EXPECT_EQ(me.snapshot().counters.terms, 21U);
}

enum class Deed { stop, resign, destroy };

// In a callback of that kind, which is brought about by a resignation where it does not come alone.
class PostgresReentry : public PostgresUse {
 protected:
  void expect_neither_hangs(EventKind kind, Deed deed) {
    Candidate rival(store(), "reports", {.id = "rival", .cool_down = 1ms});
    auto me = std::make_unique<Candidate>(store(), "reports", Options{.id = "me"});
    const auto events = me->subscribe();
    Signal elected;
    Signal done;
    const auto act = [&] {
      if (done.is_set()) return;
      switch (deed) {
        case Deed::stop: EXPECT_FALSE(me->stop()) << "it goes on after the callback"; break;
        case Deed::resign: me->resign(); break;
        case Deed::destroy: me.reset(); break;
      }
      done.set();
    };
    Callbacks callbacks(*me);
    if (kind == EventKind::lost) {
      callbacks.on_elected([&](const Leadership&) { elected.set(); })
          .on_lost([&](Term, LossReason) { act(); });
    } else {
      callbacks.on_elected([&](const Leadership&) { act(); });
    }
    me->start();
    if (kind == EventKind::lost) {
      ASSERT_TRUE(elected.wait());
      me->resign();
    }
    ASSERT_TRUE(done.wait());
    if (deed == Deed::destroy) {
      EXPECT_TRUE(await(*events, EventKind::stopped));
    } else {
      EXPECT_TRUE(me->stop());
    }
    EXPECT_TRUE(rival.lead());
  }
};

TEST_P(PostgresReentry, P08StopInACallback) {
  for (const auto kind : {EventKind::elected, EventKind::lost}) {
    expect_neither_hangs(kind, Deed::stop);
  }
}

TEST_P(PostgresReentry, P08ResignInACallback) {
  for (const auto kind : {EventKind::elected, EventKind::lost}) {
    expect_neither_hangs(kind, Deed::resign);
  }
}

TEST_P(PostgresReentry, P08DestructionInACallback) {
  for (const auto kind : {EventKind::elected, EventKind::lost}) {
    expect_neither_hangs(kind, Deed::destroy);
  }
}

INSTANTIATE_TEST_SUITE_P(postgres, PostgresUse, postgres_modes(), name_of_mode);
INSTANTIATE_TEST_SUITE_P(postgres, PostgresReentry, postgres_modes(), name_of_mode);

}  // namespace
}  // namespace conclave::rig
