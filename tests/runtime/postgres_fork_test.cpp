// P10 on PostgreSQL: a child of fork() has copies of the connections on which its parent leads.
#include <gtest/gtest.h>

#include <conclave/admin.hpp>

#include "net/children.hpp"
#include "runtime/postgres_rig.hpp"
#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

class PostgresFork : public OnPostgres {
 protected:
  void SetUp() override {
    CONCLAVE_SKIP_WHERE_FORKS_HANG();
    me->start();
    ASSERT_TRUE(await(*events, EventKind::elected));
    term = me->snapshot().term;
  }

  // It leads with the term that it had, renews it, and what it gives back is taken.
  void expect_parent_unharmed() {
    ASSERT_TRUE(await(*events, EventKind::extended));
    ASSERT_TRUE(await(*events, EventKind::extended));
    EXPECT_TRUE(me->is_leader());
    EXPECT_EQ(me->snapshot().term, term);
    const auto seen = inspect(*leads_on, "reports", hang_guard);
    ASSERT_TRUE(seen && seen->leader);
    EXPECT_EQ(seen->leader->term, term);
    Candidate other(store(short_lease), "reports", {.id = "other"});
    auto& others = other.events();
    other.start();
    ASSERT_TRUE(await(others, EventKind::follower));
    me->resign();
    EXPECT_TRUE(await(others, EventKind::elected));
  }

  std::shared_ptr<Store> leads_on = store(short_lease);
  std::unique_ptr<Candidate> me =
      std::make_unique<Candidate>(leads_on, "reports", Options{.id = "me"});
  std::shared_ptr<EventQueue> events = me->subscribe();
  Term term{};
};

TEST_P(PostgresFork, P10TheChildNeitherLeadsNorReleases) {
  EXPECT_TRUE(net::child_says([&] {
    const bool leads = me->is_leader() || me->snapshot().is_leader || me->leadership();
    me->resign();
    const bool stopped = me->stop();
    events.reset();
    me.reset();
    leads_on.reset();
    return !leads && stopped;
  }));
  expect_parent_unharmed();
}

// It would keep the session of its parent, and with it the lock, beyond the parent's end.
TEST_P(PostgresFork, P10TheChildKeepsNoConnection) {
  net::Gate gate;
  net::Child child([&] { return gate.wait_in_child(); });
  const std::string ours = "application_name = 'conclave'";
  ASSERT_FALSE(server().backends(ours).empty());
  EXPECT_TRUE(me->stop());
  me.reset();
  leads_on.reset();
  const auto limit = std::chrono::steady_clock::now() + hang_guard;
  while (!server().backends(ours).empty()) {
    ASSERT_LT(std::chrono::steady_clock::now(), limit);
  }
  gate.open();
  EXPECT_TRUE(child.succeeds());
}

INSTANTIATE_TEST_SUITE_P(postgres, PostgresFork, postgres_modes(), name_of_mode);

}  // namespace
}  // namespace conclave::rig
