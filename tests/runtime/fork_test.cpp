// P10: fork() in the leader's process. The child reads "not leader", everything in it returns at
// once, and nothing that it does or fails to do touches what the parent holds.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include <conclave/admin.hpp>
#include <conclave/callbacks.hpp>
#include <conclave/checks.hpp>
#include <conclave/observer.hpp>
#include <conclave/run.hpp>
#include <conclave/waits.hpp>

#include "net/forking.hpp"
#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "in the child: %s\n", what);
  ::_exit(1);
}
#define REQUIRE(what) require(static_cast<bool>(what), #what)

// Runs it in a child that is killed when it hangs. The exit status, or minus the signal.
int in_child(const std::function<void()>& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    act();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

class ForkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    CONCLAVE_SKIP_WHERE_FORKS_HANG();
    me->start();
    ASSERT_TRUE(await(*events, EventKind::elected));
    work.emplace(*me->leadership());
  }

  // The parent has noticed nothing: it leads, renews, and can hand over.
  void expect_parent_unharmed() {
    EXPECT_TRUE(me->is_leader());
    EXPECT_TRUE(work->valid());
    EXPECT_EQ(me->snapshot().counters.terms, 1U);
    EXPECT_TRUE(await(*events, EventKind::extended)) << "it renews";
    const auto seen = inspect(*store, "reports");
    ASSERT_TRUE(seen && seen->leader);
    EXPECT_EQ(seen->leader->term, work->term());
    Candidate other(world.store(1s), "reports", {.id = "other"});
    auto& others = other.events();
    other.start();
    ASSERT_TRUE(await(others, EventKind::follower));
    work.reset();
    me->resign();
    EXPECT_TRUE(await(others, EventKind::elected));
  }

  World world;
  std::shared_ptr<Store> store = world.store(1s);
  std::unique_ptr<Candidate> me = std::make_unique<Candidate>(store, "reports");
  std::shared_ptr<EventQueue> events = me->subscribe();
  std::unique_ptr<Callbacks> callbacks = std::make_unique<Callbacks>(*me);
  std::unique_ptr<Observer> observer = std::make_unique<Observer>(store, "reports");
  std::optional<Leadership> work;
};

TEST_F(ForkTest, P10TheChildIsNotTheLeader) {
  EXPECT_EQ(in_child([&] {
              REQUIRE(!me->is_leader());
              REQUIRE(!work->valid());
              REQUIRE(!work->covers(-1h));
              REQUIRE(!me->snapshot().is_leader);
              REQUIRE(me->role() == Role::stopped);
              REQUIRE(me->snapshot().role == Role::stopped);
              REQUIRE(!me->leadership());
            }),
            0);
  expect_parent_unharmed();
}

TEST_F(ForkTest, P10EveryCallReturnsAtOnceInTheChild) {
  Candidate idle(store, "letters");
  EXPECT_EQ(in_child([&] {
              const auto nothing = [](auto&&...) {};
              me->resign();
              me->healthy(false);
              me->report({ErrorCode::work_failed, "x", false, false});
              REQUIRE(!to_json(me->snapshot()).empty());
              me->executor().post([] { require(false, "a task runs"); });
              idle.executor().post([] { require(false, "a task runs"); });
              idle.executor().post_at(Instant{}, [] { require(false, "a task runs"); });
              REQUIRE(!events->try_pop());
              REQUIRE(!events->wait_for(1h));
              REQUIRE(events->fd() < 0);
              REQUIRE(!me->events().try_pop());
              REQUIRE(!idle.events().try_pop());
              REQUIRE(!idle.subscribe()->try_pop());
              idle.start();
              REQUIRE(!idle.lead());
              idle.lead({}, nothing);
              run(idle, {}, nothing);
              REQUIRE(!run_checks(idle, {}, {}));
              REQUIRE(!wait_until_leader(*me));
              REQUIRE(!wait_until_leader(idle));
              REQUIRE(!wait_until_role_known(*me));
              const auto future = future_term(*me);
              REQUIRE(future.valid());
              Callbacks more(*me);
              more.on_elected(nothing).on_lost(nothing).on_stopped(nothing);
              Callbacks others(idle);
              others.on_elected(nothing);
              callbacks->on_error(nothing);
              REQUIRE(!observer->leader());
              REQUIRE(!observer->is_known());
              REQUIRE(!observer->wait_for_leader(1h));
              REQUIRE(!observer->events().try_pop());
              REQUIRE(inspect(*store, "reports", 1h).error().code == ErrorCode::invalid_state);
              REQUIRE(end(*store, "reports", 1h).error().code == ErrorCode::invalid_state);
              REQUIRE(!remove(*store, "reports", Remains::trace, 1h));
              REQUIRE(!check(*store, 1h));
              me->request_stop();
              REQUIRE(me->stop());
              REQUIRE(idle.stop(1h));
              ::_exit(0);
            }),
            0);
  expect_parent_unharmed();
}

TEST_F(ForkTest, P10DestructionInTheChildReleasesNothing) {
  EXPECT_EQ(in_child([&] {
              work.reset();
              callbacks.reset();
              observer.reset();
              events.reset();
              me.reset();
              store.reset();
            }),
            0);
  expect_parent_unharmed();
}

TEST_F(ForkTest, P10ADifferentOrderOfDestructionNeitherHangs) {
  EXPECT_EQ(in_child([&] {
              store.reset();
              me.reset();
              const Leadership moved = std::move(*work);
              require(!moved.valid(), "a moved Leadership is not valid");
              events.reset();
              observer.reset();
              callbacks.reset();
            }),
            0);
  expect_parent_unharmed();
}

TEST_F(ForkTest, P10TheEndOfTheChildIsNotTheEndOfTheTerm) {
  EXPECT_EQ(in_child([] { ::_exit(7); }), 7);
  EXPECT_EQ(in_child([] { ::raise(SIGKILL); }), -SIGKILL);
  expect_parent_unharmed();
}

TEST_F(ForkTest, P10AStoreOpenedInTheChildIsItsOwn) {
  EXPECT_EQ(in_child([] {
              World fresh;
              Candidate child(fresh.store(), "reports");
              const auto term = child.lead();
              REQUIRE(term);
              REQUIRE(term->valid());
            }),
            0);
  expect_parent_unharmed();
}

// At any moment, also while the loop holds its locks.
TEST_F(ForkTest, P10AtAnyMoment) {
  Candidate busy(store, "letters", {.cool_down = 1ms});
  std::jthread leader([&](const std::stop_token& stop) {
    while (const auto term = busy.lead(stop)) static_cast<void>(busy.snapshot());
  });
  for (int turn = 0; turn < 40; ++turn) {
    ASSERT_EQ(in_child([&] {
                REQUIRE(!busy.is_leader());
                REQUIRE(!busy.snapshot().is_leader);
                REQUIRE(!busy.events().try_pop());
                busy.executor().post([] {});
                Callbacks more(busy);
                more.on_stopped([] {});
                REQUIRE(busy.stop());
                work.reset();
                me.reset();
              }),
              0);
  }
  leader = {};
  expect_parent_unharmed();
}

}  // namespace
}  // namespace conclave::rig
