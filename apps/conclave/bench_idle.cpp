// What a leader and followers that only wait cost the server.
#include <algorithm>
#include <array>
#include <deque>
#include <sstream>

#include <conclave/candidate.hpp>
#include <conclave/open.hpp>
#include <conclave/waits.hpp>

#include "apps/conclave/bench.hpp"
#include "apps/conclave/bench_redis_client.hpp"
#include "apps/conclave/clock.hpp"

namespace conclave::app {
namespace {

using namespace std::chrono_literals;

class RedisMeter final : public Meter {
 public:
  explicit RedisMeter(const RedisAddress& address) : client_(address) {}

  // "cmdstat_hset:calls=7,usec=..." for each command.
  Counts counted() override {
    Counts counts;
    std::istringstream lines(client_.ask({"INFO", "commandstats"}).text);
    for (std::string line; std::getline(lines, line);) {
      constexpr std::string_view begin = "cmdstat_";
      constexpr std::string_view calls = ":calls=";
      const auto colon = line.find(calls);
      if (!line.starts_with(begin) || colon == std::string::npos) continue;
      counts[line.substr(begin.size(), colon - begin.size())] =
          std::stod(line.substr(colon + calls.size()));
    }
    counts["info"] -= asked_++;
    return counts;
  }

  std::vector<std::pair<std::string, double>> told(const Counts& more) override {
    double total = 0;
    double sent = 0;
    for (const auto& [command, count] : more) {
      total += count;
      if (is_sent(command)) sent += count;
    }
    const auto of = [&](const char* command) {
      const auto found = more.find(command);
      return found != more.end() ? found->second : 0;
    };
    return {{"sent_per_lease", sent},
            {"scripts_per_lease", of("eval") + of("evalsha")},
            {"pings_per_lease", of("ping")},
            {"executed_per_lease", total}};
  }

 private:
  // What clients send; the rest is executed by their scripts, which call none of these.
  static bool is_sent(const std::string& command) {
    constexpr std::array<std::string_view, 7> sent{"eval",      "evalsha",     "ping",  "hello",
                                                   "subscribe", "unsubscribe", "select"};
    return std::find(sent.begin(), sent.end(), command) != sent.end();
  }

  RedisClient client_;
  double asked_ = 0;
};

// Each with a store object of its own, as if it were a process of its own.
class Idlers {
 public:
  Idlers(const BenchArguments& arguments, const Signals& signals) {
    for (int i = 0; i < arguments.candidates; ++i) {
      heed(signals);
      stores_.push_back(open(arguments.store.url, arguments.store.options));
      candidates_.emplace_back(stores_.back(), bench_election());
      candidates_.back().start();
      const bool known = wait_until_role_known(candidates_.back(), 30s).has_value();
      if (!known) throw std::runtime_error("a candidate did not get an answer in time");
    }
  }

  [[nodiscard]] Duration lease() const { return stores_.front()->lease(); }

  [[nodiscard]] double leaders() const {
    double count = 0;
    for (const Candidate& each : candidates_) count += each.is_leader() ? 1 : 0;
    return count;
  }

  [[nodiscard]] double terms() const {
    double count = 0;
    for (const Candidate& each : candidates_) {
      count += static_cast<double>(each.snapshot().counters.terms);
    }
    return count;
  }

 private:
  std::vector<std::shared_ptr<Store>> stores_;
  std::deque<Candidate> candidates_;
};

// Of a server that counts connections: that of the terms, one that listens and, where the end of a
// session frees a place, one that waits for that.
int connections_of_each(const StoreArguments& store) {
  return open(store.url, store.options)->traits().judge == LeaseJudge::session ? 3 : 2;
}

// As many as were asked for, if the server has room for them. A session that was just closed is
// counted until the server has ended it, of which nobody is told.
int crowd_for(const BenchArguments& arguments, Meter& meter, const Signals& signals) {
  const int each = connections_of_each(arguments.store);
  const Instant limit = boot_now() + std::chrono::seconds{1};
  auto room = meter.room();
  while (room && *room / each < arguments.candidates && boot_now() < limit) {
    rest(std::chrono::milliseconds{20}, signals);
    room = meter.room();
  }
  if (!room) return arguments.candidates;
  const int most = *room / each;
  if (arguments.candidates <= most) return arguments.candidates;
  if (!arguments.is_crowd_given && most >= 2) return most;
  throw std::runtime_error(std::to_string(arguments.candidates) + " candidates need " +
                           std::to_string(arguments.candidates * each) +
                           " connections, and the server has " + std::to_string(*room) +
                           " left: give at most --candidates " + std::to_string(most) +
                           ", or raise max_connections or the limit of the role");
}

}  // namespace

std::unique_ptr<Meter> make_meter(const StoreArguments& store) {
  if (const auto address = redis_address(store.url)) return std::make_unique<RedisMeter>(*address);
  if (store.url.starts_with("postgres")) return make_postgres_meter(store);
  return nullptr;
}

Figures bench_idle(const BenchArguments& asked, const Signals& signals) {
  const auto meter = make_meter(asked.store);
  BenchArguments arguments = asked;
  arguments.candidates = crowd_for(asked, *meter, signals);
  Progress progress(arguments.rounds, signals);
  Idlers idlers(arguments, signals);
  rest(2 * idlers.lease(), signals);  // until nobody is busy with having come
  const Counts before = meter->counted();
  for (int lease = 0; lease < arguments.rounds; ++lease) {
    rest(idlers.lease(), signals);
    progress.step();
  }
  Counts more = meter->counted();
  for (const auto& [name, count] : before) more[name] -= count;
  Figures figures;
  figures.extras = {{"candidates", arguments.candidates},
                    {"leaders", idlers.leaders()},
                    {"terms_lost", idlers.terms() - 1},
                    {"lease_s", seconds(idlers.lease())}};
  for (const auto& [name, count] : meter->told(more)) {
    figures.extras.emplace_back(name, count / arguments.rounds);
  }
  return figures;
}

}  // namespace conclave::app
