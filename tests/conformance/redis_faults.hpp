// Candidates on a real Redis that is disturbed, some of them behind a gate of their own.
#pragma once

#include "conformance/conformance.hpp"
#include "conformance/redis_rig.hpp"
#include "fault/tcp_gate.hpp"

namespace conclave::conformance {

// A server for one test alone: it may be restarted, and its clock set.
struct OwnRedis {
  servers::RedisServer own{{.steppable_clock = true}};
};

class OwnRedisFixture : private OwnRedis, public RedisFixture {
 public:
  // Long enough for a restart of the server while its leader goes on.
  OwnRedisFixture() : RedisFixture(own, std::chrono::seconds{2}) {}
};

class RedisFaults : public Conformance {
 protected:
  [[nodiscard]] RedisFixture& rig() { return static_cast<RedisFixture&>(fixture()); }
  [[nodiscard]] servers::RedisServer& server() { return rig().server(); }

  // Another connection, through the gate.
  [[nodiscard]] std::shared_ptr<FaultyStore> connect_through(const fault::TcpGate& gate) {
    RedisOptions options = rig().options(lease());
    options.port = gate.port();
    return std::make_shared<FaultyStore>(make_redis_store(std::move(options)));
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

  // A renewal is confirmed from now on. Right after it there is most time until the next one.
  [[nodiscard]] bool until_renewed(const Member& member) {
    const std::size_t before = member->count<core::Extended>();
    return run_until([&] { return member->count<core::Extended>() > before; });
  }
  // It knows who leads.
  [[nodiscard]] bool until_follows(const Member& member, const std::string& leader) {
    return run_until(
        [&] { return member->role() == Role::follower && member->leader() == leader; });
  }

  // The leader has the term that it had, after a while as well, and nobody else ever led.
  void expect_kept(const Member& leader, Term term) {
    run_for(2 * lease());
    EXPECT_TRUE(leader->leads());
    EXPECT_EQ(leader->term(), term);
    EXPECT_EQ(leader->count<core::Lost>(), 0U);
    EXPECT_EQ(leaders().size(), 1U);
    const Inspection found = inspect(*leader.faults);
    EXPECT_EQ(found.last_term, term);
    EXPECT_EQ(found.leader.value_or(Record{}).leader, leader->id());
    EXPECT_EQ(found.leader.value_or(Record{}).metadata, "info of " + leader->id());
  }

  static constexpr auto record = "conclave:{election}";
};

}  // namespace conclave::conformance
