// Connections to PostgreSQL that are cut anywhere in an exchange: what was carried out counts once,
// and no place is stuck.
#include <array>

#include "conformance/postgres_faults.hpp"

namespace conclave::conformance {
namespace {

using fault::Direction;
using fault::TcpGate;

class PostgresCut : public PostgresFaults {
 protected:
  static constexpr std::array both{Direction::to_client, Direction::to_target};

  [[nodiscard]] static std::uint64_t passed(const TcpGate& gate, Direction direction) {
    const auto counted = gate.counters();
    return direction == Direction::to_client ? counted.bytes_to_client : counted.bytes_to_target;
  }

  // As a candidate does: the same question, until it is answered.
  CampaignAnswer campaign_until_answered(Store& store, const Bid& bid) {
    const Instant limit = now() + std::chrono::seconds{30};
    CampaignAnswer answer = campaign(store, bid);
    while (std::holds_alternative<Unknown>(answer) && now() < limit) answer = campaign(store, bid);
    return answer;
  }
  bool resign_until_answered(Store& store, const Resignation& resignation) {
    const Instant limit = now() + std::chrono::seconds{30};
    Answer answer = resign(store, resignation);
    while (std::holds_alternative<Unknown>(answer) && now() < limit) {
      answer = resign(store, resignation);
    }
    return !std::holds_alternative<Unknown>(answer);
  }

  // In a place that was released.
  void expect_granted_once(Store& store, const Bid& bid, Store& admin) {
    const Term before = inspect(admin).last_term;
    const CampaignAnswer first = campaign(store, bid);
    const Term carried_out = inspect(admin).last_term;
    const CampaignAnswer last =
        std::holds_alternative<Unknown>(first) ? campaign_until_answered(store, bid) : first;
    ASSERT_TRUE(std::holds_alternative<Granted>(last));
    const Granted grant = std::get<Granted>(last);
    EXPECT_GT(grant.term, before);
    if (carried_out > before) {
      EXPECT_EQ(grant.term, carried_out) << "granted once more";
      lost_grants_ += std::holds_alternative<Unknown>(first) ? 1 : 0;
    }
    EXPECT_EQ(grant.vacancy, before.exists() ? Vacancy::released : Vacancy::absent);
    EXPECT_EQ(inspect(admin).last_term, grant.term);
    EXPECT_TRUE(resign_until_answered(store, resignation(bid, grant.term, true)));
    EXPECT_FALSE(inspect(admin).leader);
  }
  // How the place was found by who leads.
  [[nodiscard]] std::string vacancy() {
    return server().value("select vacancy from conclave_election");
  }
  [[nodiscard]] int lost_grants() const { return lost_grants_; }

 private:
  int lost_grants_ = 0;  // carried out, and not answered
};

// Over the bid and the resignation after it, on a session that is there.
TEST_P(PostgresCut, R08_ABidThatIsCutAtAnyByteIsGrantedOnce) {
  const auto admin = connect();
  std::uint64_t attempt = 0;
  const auto exchange = [&](Direction direction, std::optional<std::uint64_t> bytes) {
    TcpGate gate(server().port());
    const auto store = connect_through(gate);
    Bid other = bid("a", ++attempt);
    other.election += " " + std::to_string(attempt);
    EXPECT_TRUE(std::holds_alternative<Granted>(campaign_until_answered(*store, other)));
    const std::uint64_t before = passed(gate, direction);
    if (bytes) gate.cut_after(direction, *bytes);
    expect_granted_once(*store, bid("a", ++attempt), *admin);
    return passed(gate, direction) - before;
  };
  for (const Direction direction : both) {
    const std::uint64_t whole = exchange(direction, std::nullopt);
    for (std::uint64_t bytes = 0; bytes < whole; bytes += whole / 24 + 1) {
      SCOPED_TRACE("cut after " + std::to_string(bytes) + " of " + std::to_string(whole));
      exchange(direction, bytes);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(lost_grants(), 0) << "no cut was between a grant and its answer";
}

// Over the greeting, the tables, the listening and the bid of a candidate that comes.
TEST_P(PostgresCut, R12_ACandidateThatIsCutAnywhereIsElected) {
  for (const Direction direction : both) {
    std::uint64_t whole = 0;
    {
      TcpGate gate(server().port());
      const Member member = join_behind(gate, "counted");
      ASSERT_TRUE(until_leads(member));
      whole = passed(gate, direction);
      member->stop();
      ASSERT_TRUE(until_stopped(member));
    }
    const auto admin = connect();
    for (std::uint64_t bytes = 0; bytes < whole; bytes += whole / 24 + 1) {
      SCOPED_TRACE("cut after " + std::to_string(bytes) + " of " + std::to_string(whole));
      TcpGate gate(server().port());
      const Term before = inspect(*admin).last_term;
      // A busy machine may have taken too long for the last one to give it back.
      const bool was_free = !inspect(*admin).leader;
      gate.cut_after(direction, bytes);
      const Member member = make_behind(gate, "a");
      member->start();
      ASSERT_TRUE(until_leads(member)) << trouble_of(member);
      EXPECT_GT(member->term(), before);
      EXPECT_EQ(inspect(*admin).last_term, member->term());
      // What was granted with a lock is given back when its session is gone.
      if (outlives_session() && was_free) {
        EXPECT_EQ(vacancy(), "released");
      }
      member->stop();
      ASSERT_TRUE(until_stopped(member));
    }
  }
}

// Where the session is the lock, a term may end with it, but the next one comes.
TEST_P(PostgresCut, R08_ALeaderWhoseRenewalsAreCutAnywhereLeadsOn) {
  TcpGate gate(server().port());
  const Member leader = join_behind(gate, "a");
  ASSERT_TRUE(until_leads(leader));
  const Term term = leader->term();
  // Each costs a lease where the lock is not enough.
  const auto points = outlives_session() ? std::vector<std::uint64_t>{0, 1, 5, 20, 60, 150}
                                         : std::vector<std::uint64_t>{0, 20};
  for (const Direction direction : both) {
    for (const std::uint64_t bytes : points) {
      SCOPED_TRACE("cut after " + std::to_string(bytes));
      const std::uint64_t cut = gate.counters().cut;
      gate.cut_after(direction, bytes);
      ASSERT_TRUE(gate.wait_until([&](const auto& counted) { return counted.cut > cut; }));
      ASSERT_TRUE(until_renewed(leader)) << trouble_of(leader);
      EXPECT_TRUE(leader->leads());
    }
  }
  if (outlives_session()) expect_kept(leader, term);
}

TEST_P(PostgresCut, R12_AResignationThatIsCutAnywhereLeavesThePlaceFree) {
  for (const Direction direction : both) {
    for (std::uint64_t bytes = 0; bytes < 240; bytes += bytes < 30 ? 15 : 70) {
      SCOPED_TRACE("cut after " + std::to_string(bytes));
      TcpGate gate(server().port());
      const Member leader = join_behind(gate, "a");
      ASSERT_TRUE(until_leads(leader));
      const Term term = leader->term();
      const Member follower = join("b");
      ASSERT_TRUE(until_renewed(leader));
      gate.cut_after(direction, bytes);
      leader->stop();
      ASSERT_TRUE(until_stopped(leader));
      ASSERT_TRUE(until_leads(follower)) << trouble_of(follower);
      EXPECT_GT(follower->term(), term);
      // With a lock, the session's end may come before it is given back.
      if (outlives_session()) {
        EXPECT_EQ(vacancy(), "released");
      }
      follower->stop();
      ASSERT_TRUE(until_stopped(follower));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(advisory, PostgresCut,
                         ::testing::Values(MakeFixture{make_advisory<PostgresFixture>}),
                         [](const auto&) { return "advisory"; });
INSTANTIATE_TEST_SUITE_P(lease, PostgresCut,
                         ::testing::Values(MakeFixture{make_lease<PostgresFixture>}),
                         [](const auto&) { return "lease"; });
INSTANTIATE_TEST_SUITE_P(strict, PostgresCut,
                         ::testing::Values(MakeFixture{make_strict<PostgresFixture>}),
                         [](const auto&) { return "strict"; });

}  // namespace
}  // namespace conclave::conformance
