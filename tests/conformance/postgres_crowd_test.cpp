// The elections of a process share its few connections, however many elections there are, and
// however many others hold them.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

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
constexpr std::string_view refused = "too many connections for role";

std::size_t refusals_of(const PostgresServer& server) {
  const std::string log = server.log();
  std::size_t count = 0;
  for (auto at = log.find(refused); at != std::string::npos; at = log.find(refused, at + 1)) {
    ++count;
  }
  return count;
}

std::vector<std::string> elections(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back("election " + std::to_string(i));
  return names;
}

struct Place {
  const PostgresServer& server;
  PostgresMode mode;
  Duration lease;
  std::string user = "conclave";
  bool tables = true;
};

// One store object, and a candidate on it for each election.
class Process {
 public:
  Process(const Place& place, std::string name, const std::vector<std::string>& elections)
      : server_(place.server), name_(std::move(name)), gate_(server_.port()) {
    PostgresOptions options;
    options.url = "postgres://" + place.user + "@127.0.0.1:" + std::to_string(gate_.port()) +
                  "/postgres?application_name=" + name_;
    options.mode = place.mode;
    options.lease = place.lease;
    options.tables = place.tables;
    const auto store = make_postgres_store(options);
    for (const auto& each : elections) {
      all_.push_back(std::make_unique<Candidate>(store, each, Options{.id = name_}));
      all_.back()->start();
    }
  }
  // All at once: each by itself would wait for a server that does not answer.
  ~Process() {
    for (const auto& each : all_) each->request_stop();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // As kill -9: the server hears of it at once, and nothing more comes.
  void die() {
    gate_.refuse();
    gate_.reset_all();
  }

  [[nodiscard]] bool until_all_lead() {
    return std::all_of(all_.begin(), all_.end(),
                       [](const auto& each) { return wait_until_leader(*each, hang_guard); });
  }
  [[nodiscard]] bool until_all_follow() {
    return std::all_of(all_.begin(), all_.end(), [](const auto& each) {
      return wait_until_role_known(*each, hang_guard) == Role::follower;
    });
  }
  // Each of them so often from now on.
  [[nodiscard]] bool until_all_renewed(std::uint64_t times) {
    const std::uint64_t wanted = all_.front()->snapshot().counters.renewals + times;
    return std::all_of(all_.begin(), all_.end(), [&](const auto& each) {
      while (each->snapshot().counters.renewals < wanted) {
        if (!each->events().wait_for(hang_guard)) return false;
      }
      return true;
    });
  }

  [[nodiscard]] std::size_t leading() const {
    return static_cast<std::size_t>(std::count_if(
        all_.begin(), all_.end(), [](const auto& each) { return each->is_leader(); }));
  }
  [[nodiscard]] std::uint64_t times_elected() const {
    std::uint64_t sum = 0;
    for (const auto& each : all_) sum += each->snapshot().counters.terms;
    return sum;
  }
  [[nodiscard]] std::vector<Term> terms() const {
    std::vector<Term> every;
    for (const auto& each : all_) every.push_back(each->snapshot().term);
    return every;
  }
  [[nodiscard]] std::vector<pid_t> sessions() const {
    return server_.backends("application_name = '" + name_ + "'");
  }
  [[nodiscard]] std::size_t connections() const { return sessions().size(); }
  // For the end of somebody else.
  [[nodiscard]] bool waits() const {
    return !server_.backends("application_name = '" + name_ + "' and wait_event = 'advisory'")
                .empty();
  }
  // As pg_terminate_backend ends them.
  void lose_sessions() const {
    server_.exec(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1",
        {name_});
  }

 private:
  const PostgresServer& server_;
  const std::string name_;
  fault::TcpGate gate_;
  std::vector<std::unique_ptr<Candidate>> all_;
};

TEST(PostgresCrowd, AThousandByLocksOnFourConnectionsAreTakenOver) {
  constexpr std::size_t count = 1000;
  const PostgresServer server(
      {.users = {{"one", "word", "CONNECTION LIMIT 4"}, {"two", "word", "CONNECTION LIMIT 4"}}});
  server.exec("grant create on schema public to one");
  Process first({server, PostgresMode::advisory, 8s, "one:word"}, "first", elections(count));
  ASSERT_TRUE(first.until_all_lead());
  server.exec("grant all on all tables in schema public to two");
  Process second({server, PostgresMode::advisory, 8s, "two:word"}, "second", elections(count));
  ASSERT_TRUE(second.until_all_follow());
  ASSERT_TRUE(first.until_all_renewed(3));
  EXPECT_LE(first.connections(), 4U);
  EXPECT_LE(second.connections(), 4U);
  EXPECT_EQ(server.log().find(refused), std::string::npos) << "more were tried";
  EXPECT_EQ(first.times_elected(), count) << "nobody has lost any";
  const auto before = first.terms();
  first.die();
  ASSERT_TRUE(second.until_all_lead());
  EXPECT_EQ(first.leading(), 0U);
  EXPECT_LE(second.connections(), 4U);
  const auto after = second.terms();
  for (std::size_t i = 0; i < count; ++i) EXPECT_GT(after[i], before[i]);
}

TEST(PostgresCrowd, TenThousandByTheClockOnTwoConnectionsAreKept) {
  constexpr std::size_t count = 10'000;
  const PostgresServer server({.users = {{"limited", "word", "CONNECTION LIMIT 2"}}});
  server.exec("grant create on schema public to limited");
  Process process({server, PostgresMode::lease, 8s, "limited:word"}, "process", elections(count));
  ASSERT_TRUE(process.until_all_lead());
  ASSERT_TRUE(process.until_all_renewed(3));
  EXPECT_LE(process.connections(), 2U);
  EXPECT_EQ(server.log().find(refused), std::string::npos) << "more were tried";
  process.lose_sessions();
  ASSERT_TRUE(process.until_all_renewed(2));
  const auto anew = process.sessions();
  ASSERT_TRUE(process.until_all_renewed(2));
  EXPECT_EQ(process.sessions(), anew) << "that so much is listened to breaks no connection";
  EXPECT_LE(process.connections(), 2U);
  EXPECT_EQ(process.times_elected(), count) << "nobody has lost any";
  EXPECT_EQ(process.leading(), count);
}

// Of so many not each has a session that waits for its end; the others are looked at.
TEST(PostgresCrowd, SixHoldersWhoDieAreAllReplacedOnFourConnections) {
  const PostgresServer server;
  const Place place{server, PostgresMode::advisory, 1s};
  const auto names = elections(6);
  std::vector<std::unique_ptr<Process>> holders;
  for (const auto& each : names) {
    holders.push_back(
        std::make_unique<Process>(place, "holder" + each.substr(9), std::vector{each}));
    ASSERT_TRUE(holders.back()->until_all_lead());
  }
  Process follower(place, "follower", names);
  ASSERT_TRUE(follower.until_all_follow());
  ASSERT_TRUE(holders.front()->until_all_renewed(6));
  EXPECT_LE(follower.connections(), 4U);
  for (const auto& each : holders) each->die();
  ASSERT_TRUE(follower.until_all_lead());
  EXPECT_LE(follower.connections(), 4U);
  EXPECT_EQ(server.log().find("lock timeout"), std::string::npos) << "in the log of a sound server";
}

// Nobody would look for minutes: a session waits for the end of each holder. Without tables all
// have the same lock.
TEST(PostgresCrowd, HoldersOfALongLeaseWhoDieAreReplacedAtOnce) {
  for (const bool tables : {false, true}) {
    PostgresServer server({.steppable_clock = true});
    server.step_clock(1h);  // it has been up for long enough
    const Place place{server, PostgresMode::advisory, 10min, "conclave", tables};
    Process a(place, "a", elections(1));
    ASSERT_TRUE(a.until_all_lead());
    Process b(place, "b", elections(1));
    Process c(place, "c", elections(1));
    const auto until = [](const std::function<bool()>& done) {
      const auto limit = std::chrono::steady_clock::now() + hang_guard;
      while (!done() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
      return done();
    };
    ASSERT_TRUE(until([&] { return b.waits() && c.waits(); }));
    a.die();
    ASSERT_TRUE(until([&] { return b.leading() + c.leading() == 1; }));
    Process& second = b.leading() == 1 ? b : c;
    Process& third = b.leading() == 1 ? c : b;
    ASSERT_TRUE(until([&] { return third.waits(); }));
    second.die();
    EXPECT_TRUE(until([&] { return third.leading() == 1; }));
  }
}

// With no more than two, none is left that could wait for the end of others. Those that would are
// tried for once in a lease: somebody else may need the next one that is free.
TEST(PostgresCrowd, AHolderWhoDiesIsReplacedByWhoHasTwoConnections) {
  const PostgresServer server({.users = {{"limited", "word", "CONNECTION LIMIT 2"}}});
  Process holder({server, PostgresMode::advisory, 2s}, "holder", elections(3));
  ASSERT_TRUE(holder.until_all_lead());
  server.exec("grant all on all tables in schema public to limited");
  Process follower({server, PostgresMode::advisory, 2s, "limited:word"}, "follower", elections(3));
  ASSERT_TRUE(follower.until_all_follow());
  const auto began = std::chrono::steady_clock::now();
  const std::size_t before = refusals_of(server);
  ASSERT_TRUE(holder.until_all_renewed(8));
  EXPECT_LE(follower.connections(), 2U);
  const auto leases = (std::chrono::steady_clock::now() - began) / 2s;
  EXPECT_LE(refusals_of(server) - before, 2 * static_cast<std::size_t>(leases + 3));
  EXPECT_GT(refusals_of(server), 0U);
  holder.die();
  ASSERT_TRUE(follower.until_all_lead());
}

// Who waits for the end of others must not take the connection of who bids, or of who looks.
TEST(PostgresCrowd, AHolderWhoDiesIsReplacedByWhoHasFoundConnectionsScarce) {
  const PostgresServer server({.users = {{"limited", "word", "CONNECTION LIMIT 2"}}});
  const Place place{server, PostgresMode::advisory, 1s};
  auto holder = std::make_unique<Process>(place, "holder", elections(3));
  ASSERT_TRUE(holder->until_all_lead());
  server.exec("grant all on all tables in schema public to limited");
  Process follower({server, PostgresMode::advisory, 1s, "limited:word"}, "follower", elections(3));
  ASSERT_TRUE(follower.until_all_follow());
  const auto limit = [&](int connections) {
    server.exec("alter role limited connection limit " + std::to_string(connections));
  };
  const std::string waiting = "application_name = 'follower' and wait_event = 'advisory'";
  // All that it has and would like to have try again and again, and two of them are let in.
  for (int round = 0; round < 4; ++round) {
    limit(0);
    follower.lose_sessions();
    const std::size_t enough = refusals_of(server) + 12;
    while (refusals_of(server) < enough) std::this_thread::yield();
    limit(2);
    const auto until = std::chrono::steady_clock::now() + hang_guard;
    while (follower.connections() != 2 || !server.backends(waiting).empty()) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << "none of the two may wait for others";
    }
  }
  holder->die();
  ASSERT_TRUE(follower.until_all_lead());
}

}  // namespace
}  // namespace conclave::conformance
