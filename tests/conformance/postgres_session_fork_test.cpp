// A session and fork(): a child neither uses it nor keeps it.
#include "conformance/postgres_session_rig.hpp"
#include "net/children.hpp"

namespace conclave::conformance {
namespace {

using net::Child;
using net::Gate;

class PostgresSessionFork : public net::Forks {};

TEST_F(PostgresSessionFork, AChildNeitherKeepsNorEndsIt) {
  const PostgresServer server;
  SessionRig rig(options_for(server.url()));
  ASSERT_EQ(rig.prepare(), std::nullopt);
  ASSERT_EQ(rig.value("SELECT pg_advisory_lock(7)"), "");
  const int pid = rig.pid();
  Gate gate;
  Child child([&] {
    bool is_told = false;
    rig.session->send({"SELECT 1"}, [&](const auto&) { is_told = true; });
    rig.session->prepare([&](const auto&) { is_told = true; });
    const bool is_used = rig.session->backend_pid() != 0 || rig.session->is_established();
    rig.session->close();
    rig.session.reset();
    return gate.wait_in_child() && !is_told && !is_used;
  });
  EXPECT_EQ(rig.value("SELECT 1"), "1") << "the child used the connection";
  EXPECT_EQ(rig.pid(), pid);
  rig.destroy();
  EXPECT_TRUE(all_are_gone(server)) << "the child keeps the connection";
  gate.open();
  EXPECT_TRUE(child.succeeds());
}

TEST_F(PostgresSessionFork, AtAnyMomentAForkTakesNothingAlong) {
  const PostgresServer server;
  for (int turn = 0; turn < 30; ++turn) {
    SessionRig rig(options_for(server.url()));
    rig.on_loop([&] { rig.session->open(); });
    for (int i = 0; i < turn / 2; ++i) rig.on_loop([] {});
    Gate gate;
    Child child([&] { return gate.wait_in_child(); });
    EXPECT_EQ(rig.prepare(), std::nullopt);
    rig.destroy();
    const bool are_gone = all_are_gone(server);
    gate.open();
    EXPECT_TRUE(child.succeeds());
    ASSERT_TRUE(are_gone) << "in turn " << turn;
  }
}

}  // namespace
}  // namespace conclave::conformance
