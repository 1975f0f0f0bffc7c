// Crowds as large as they come: the elections of a process share its few connections, however many
// there are.
//
// CONCLAVE_CROWD_ELECTIONS says how many in mode lease; scripts/test --full takes 10,000.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include <conclave/candidate.hpp>
#include <conclave/postgres.hpp>
#include <conclave/waits.hpp>

#include "fault/tcp_gate.hpp"
#include "servers/postgres_server.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;
using servers::PostgresServer;

constexpr Duration hang_guard = 60s;

int elections_by_lease() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets any
  const char* const text = std::getenv("CONCLAVE_CROWD_ELECTIONS");
  return text != nullptr ? std::stoi(text) : 2000;
}

// One store object, and a candidate on it for each election.
class Process {
 public:
  Process(const PostgresServer& server, std::string name, PostgresMode mode, Duration lease,
          int elections)
      : server_(server), name_(std::move(name)), gate_(server.port()) {
    PostgresOptions options;
    options.url = "postgres://conclave@127.0.0.1:" + std::to_string(gate_.port()) +
                  "/postgres?application_name=" + name_;
    options.mode = mode;
    options.lease = lease;
    const auto store = make_postgres_store(options);
    for (int i = 0; i < elections; ++i) {
      all_.push_back(std::make_unique<Candidate>(store, "election " + std::to_string(i),
                                                 Options{.id = name_}));
      all_.back()->start();
    }
  }
  // As kill -9: the server hears of it at once, and nothing more comes.
  void die() {
    gate_.refuse();
    gate_.reset_all();
  }
  // All at once: each by itself would wait for a server that does not answer.
  ~Process() {
    for (const auto& each : all_) each->request_stop();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] bool until_all_lead() {
    return std::all_of(all_.begin(), all_.end(),
                       [](const auto& each) { return wait_until_leader(*each, hang_guard); });
  }
  [[nodiscard]] bool until_all_follow() {
    return std::all_of(all_.begin(), all_.end(), [](const auto& each) {
      return wait_until_role_known(*each, hang_guard) == Role::follower;
    });
  }
  // Each has renewed its term so often.
  [[nodiscard]] bool until_all_renewed(std::uint64_t times) {
    return std::all_of(all_.begin(), all_.end(), [&](const auto& each) {
      EventQueue& events = each->events();
      while (each->snapshot().counters.renewals < times) {
        if (!events.wait_for(hang_guard)) return false;
      }
      return true;
    });
  }
  [[nodiscard]] std::size_t leading() const {
    return static_cast<std::size_t>(std::count_if(
        all_.begin(), all_.end(), [](const auto& each) { return each->is_leader(); }));
  }
  [[nodiscard]] std::uint64_t terms() const {
    std::uint64_t sum = 0;
    for (const auto& each : all_) sum += each->snapshot().counters.terms;
    return sum;
  }
  [[nodiscard]] std::vector<Term> every_term() const {
    std::vector<Term> every;
    for (const auto& each : all_) every.push_back(each->snapshot().term);
    return every;
  }
  [[nodiscard]] std::size_t connections() const {
    return server_.backends("application_name = '" + name_ + "'").size();
  }

 private:
  const PostgresServer& server_;
  const std::string name_;
  fault::TcpGate gate_;
  std::vector<std::unique_ptr<Candidate>> all_;
};

TEST(PostgresCrowd, AThousandByLocksOnFourConnectionsAreTakenOver) {
  constexpr int count = 1000;
  const PostgresServer server;
  Process first(server, "first", PostgresMode::advisory, 3s, count);
  ASSERT_TRUE(first.until_all_lead());
  EXPECT_LE(first.connections(), 4U);
  Process second(server, "second", PostgresMode::advisory, 3s, count);
  ASSERT_TRUE(second.until_all_follow());
  ASSERT_TRUE(first.until_all_renewed(3));
  EXPECT_LE(first.connections(), 4U);
  EXPECT_LE(second.connections(), 4U);
  EXPECT_EQ(first.terms(), count) << "nobody has lost any";
  const auto before = first.every_term();
  first.die();
  ASSERT_TRUE(second.until_all_lead());
  EXPECT_EQ(first.leading(), 0U);
  EXPECT_LE(second.connections(), 4U);
  const auto after = second.every_term();
  for (std::size_t i = 0; i < count; ++i) EXPECT_GT(after[i], before[i]);
}

TEST(PostgresCrowd, ThousandsByTheClockOnTwoConnectionsAreKept) {
  const int count = elections_by_lease();
  const PostgresServer server;
  Process process(server, "process", PostgresMode::lease, 5s, count);
  ASSERT_TRUE(process.until_all_lead());
  EXPECT_LE(process.connections(), 2U);
  ASSERT_TRUE(process.until_all_renewed(4));
  EXPECT_LE(process.connections(), 2U);
  EXPECT_EQ(process.terms(), static_cast<std::uint64_t>(count)) << "nobody has lost any";
  EXPECT_EQ(process.leading(), static_cast<std::size_t>(count));
}

}  // namespace
}  // namespace conclave::conformance
