// What a leader and followers that only wait cost the server.
#include <array>
#include <deque>
#include <map>
#include <sstream>
#include <thread>

#include <conclave/candidate.hpp>
#include <conclave/open.hpp>
#include <conclave/waits.hpp>

#include "apps/conclave/bench.hpp"
#include "apps/conclave/bench_redis_client.hpp"
#include "apps/conclave/clock.hpp"

namespace conclave::app {
namespace {

using namespace std::chrono_literals;

using Counts = std::map<std::string, double>;

// "cmdstat_hset:calls=7,usec=..." for each command.
Counts counted(RedisClient& client) {
  Counts counts;
  std::istringstream lines(client.ask({"INFO", "commandstats"}).text);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view begin = "cmdstat_";
    constexpr std::string_view calls = ":calls=";
    const auto colon = line.find(calls);
    if (!line.starts_with(begin) || colon == std::string::npos) continue;
    counts[line.substr(begin.size(), colon - begin.size())] =
        std::stod(line.substr(colon + calls.size()));
  }
  return counts;
}

// What clients send; the rest is executed by their scripts, which call none of these.
bool is_sent(const std::string& command) {
  constexpr std::array<std::string_view, 7> sent{"eval",      "evalsha",     "ping",  "hello",
                                                 "subscribe", "unsubscribe", "select"};
  return std::find(sent.begin(), sent.end(), command) != sent.end();
}

// Each with a store object of its own, as if it were a process of its own.
class Idlers {
 public:
  explicit Idlers(const BenchArguments& arguments) {
    for (int i = 0; i < arguments.candidates; ++i) {
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

}  // namespace

Figures bench_idle(const BenchArguments& arguments, const Signals& signals) {
  RedisClient client(*redis_address(arguments.store.url));
  Idlers idlers(arguments);
  std::this_thread::sleep_for(2 * idlers.lease());  // until nobody is busy with having come
  const Counts before = counted(client);
  Progress progress(arguments.rounds, signals);
  for (int lease = 0; lease < arguments.rounds; ++lease) {
    std::this_thread::sleep_for(idlers.lease());
    progress.step();
  }
  Counts after = counted(client);
  after["info"] -= 1;  // the question of before
  double total = 0;
  Counts sent;
  for (const auto& [command, count] : after) {
    const auto known = before.find(command);
    const double more = count - (known != before.end() ? known->second : 0);
    total += more;
    if (is_sent(command)) sent["all"] += more;
    sent[command] += more;
  }
  const double leases = arguments.rounds;
  Figures figures;
  figures.extras = {{"candidates", arguments.candidates},
                    {"leaders", idlers.leaders()},
                    {"terms_lost", idlers.terms() - 1},
                    {"lease_s", seconds(idlers.lease())},
                    {"sent_per_lease", sent["all"] / leases},
                    {"scripts_per_lease", (sent["eval"] + sent["evalsha"]) / leases},
                    {"pings_per_lease", sent["ping"] / leases},
                    {"executed_per_lease", total / leases}};
  return figures;
}

}  // namespace conclave::app
