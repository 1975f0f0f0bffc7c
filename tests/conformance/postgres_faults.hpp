// Candidates on a real PostgreSQL that is disturbed, some of them behind a gate of their own.
#pragma once

#include <atomic>

#include "conformance/conformance.hpp"
#include "conformance/postgres_own_rig.hpp"
#include "fault/tcp_gate.hpp"

namespace conclave::conformance {

// A server for one test alone: it may be restarted, and its clock set.
class OwnPostgresFixture : public OldServerFixture {
 public:
  explicit OwnPostgresFixture(PostgresMode mode, bool strict = false, bool tables = true)
      : OldServerFixture(mode, strict, tables) {}

 private:
  [[nodiscard]] Duration patience(Duration) const override { return {}; }
};

template <typename Fixture>
std::unique_ptr<StoreFixture> make_advisory() {
  return std::make_unique<Fixture>(PostgresMode::advisory);
}
template <typename Fixture>
std::unique_ptr<StoreFixture> make_lease() {
  return std::make_unique<Fixture>(PostgresMode::lease);
}
template <typename Fixture>
std::unique_ptr<StoreFixture> make_strict() {
  return std::make_unique<Fixture>(PostgresMode::advisory, true);
}
// Without tables, by locks alone: on a server where nobody has made them.
template <typename Fixture>
std::unique_ptr<StoreFixture> make_locks() {
  return std::make_unique<Fixture>(PostgresMode::advisory, false, false);
}

class PostgresFaults : public Conformance {
 protected:
  [[nodiscard]] PostgresFixture& rig() { return static_cast<PostgresFixture&>(fixture()); }
  [[nodiscard]] servers::PostgresServer& server() { return rig().server(); }

  // Whether a term outlives the session on which it was granted.
  [[nodiscard]] bool outlives_session() {
    return rig().options(lease()).mode == PostgresMode::lease;
  }

  // Its session with the terms, where it has one, is there already: then a second one comes. Heard
  // until it is cancelled.
  Operation listen(Store& store) {
    const auto hears = std::make_shared<std::atomic<bool>>(false);
    Operation operation{};
    on(store, [&] {
      operation = store.observe("election", "a", [hears](const Observation&) { *hears = true; });
    });
    EXPECT_TRUE(run_until([&] { return hears->load(); }));
    return operation;
  }

  // Another connection, through the gate.
  [[nodiscard]] std::shared_ptr<FaultyStore> connect_through(const fault::TcpGate& gate) {
    PostgresOptions options = rig().options(lease());
    options.url = "postgres://conclave@127.0.0.1:" + std::to_string(gate.port()) + "/postgres";
    return std::make_shared<FaultyStore>(make_postgres_store(std::move(options)));
  }
  Member make_behind(const fault::TcpGate& gate, const std::string& id) {
    return make_on(connect_through(gate), id);
  }
  Member join_behind(const fault::TcpGate& gate, const std::string& id) {
    Member member = make_behind(gate, id);
    member->start();
    EXPECT_TRUE(run_until([&] { return member->role() == Role::follower || member->leads(); }));
    return member;
  }

  // A renewal is confirmed from now on.
  [[nodiscard]] bool until_renewed(const Member& member) {
    const std::size_t before = member->count<core::Extended>();
    return run_until([&] { return member->count<core::Extended>() > before; });
  }
  [[nodiscard]] bool until_follows(const Member& member, const std::string& leader) {
    // Without tables nobody knows its name.
    const bool is_named = rig().options(lease()).tables;
    return run_until([&] {
      const std::string seen = member->leader();
      return member->role() == Role::follower && (is_named ? seen == leader : !seen.empty());
    });
  }
  [[nodiscard]] bool until_somebody_leads(const Member& one, const Member& other) {
    return run_until([&] { return one->leads() || other->leads(); });
  }
  // The leader has the term that it had, after a while as well, and nobody else ever led.
  void expect_kept(const Member& leader, Term term) {
    run_for(2 * lease());
    EXPECT_TRUE(leader->leads());
    EXPECT_EQ(leader->term(), term);
    EXPECT_EQ(leader->count<core::Lost>(), 0U);
    EXPECT_EQ(leaders().size(), 1U);
  }
};

}  // namespace conclave::conformance
