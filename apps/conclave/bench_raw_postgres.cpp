// A PostgreSQL server's hand-over without the library, as it is written by hand: who leads holds an
// advisory lock, and commits its name and term to the row of the election; who wants to lead waits
// for the lock. Where a lease has to end, the row says until when.
#include <unistd.h>

#include <stdexcept>
#include <thread>

#include <conclave/open.hpp>

#include "apps/conclave/bench.hpp"
#include "apps/conclave/bench_postgres_client.hpp"
#include "apps/conclave/bench_raw_process.hpp"
#include "apps/conclave/clock.hpp"

namespace conclave::app {
namespace {

using namespace std::chrono_literals;

struct Place {
  PostgresAddress address{};
  std::string table{};
  std::string key{};  // of the advisory lock
  Duration lease{};
  LeaseJudge judge{};
};

std::string micros_text(Duration time) {
  return std::to_string(std::chrono::round<std::chrono::microseconds>(time).count());
}

class Contender {
 public:
  explicit Contender(const Place& place) : client_(place.address) {
    const std::string length = micros_text(place.lease) + " * interval '1 microsecond'";
    client_.prepare("lock", "select pg_advisory_lock(" + place.key + ")");
    client_.prepare("unlock", "select pg_advisory_unlock(" + place.key + ")");
    client_.prepare("begin", "update " + place.table +
                                 " set term = term + 1, leader = 'candidate-' || pg_backend_pid() "
                                 "where name = 'scheduler'");
    client_.prepare("lease", "update " + place.table +
                                 " set term = term + 1, until = clock_timestamp() + " + length +
                                 " where until <= clock_timestamp()");
    left_ = "select (extract(epoch from until - clock_timestamp()) * 1000000)::bigint from " +
            place.table;
  }

  void take() {
    client_.execute("lock");
    client_.execute("begin");
  }

  void let_go() { client_.execute("unlock"); }

  bool take_lease() { return client_.execute("lease") == 1; }
  Duration left() { return std::chrono::microseconds{std::stoll(client_.ask(left_).at(0))}; }

 private:
  PostgresClient client_;
  std::string left_;
};

void pass(const Place& place, bool is_first, const RawProcess::Parent& parent) {
  Contender me(place);
  if (!is_first) parent.say(boot_now());
  while (true) {
    me.take();
    parent.say(boot_now());
    parent.wait();
    const Instant begun = boot_now();
    me.let_go();
    parent.say(begun);
  }
}

// Holds it until it is killed.
void hold(const Place& place, const RawProcess::Parent& parent) {
  Contender me(place);
  me.take();
  parent.say(boot_now());
  parent.wait();
}

void hold_lease(const Place& place, const RawProcess::Parent& parent) {
  Contender me(place);
  if (!me.take_lease()) throw std::runtime_error("the raw lease is taken");
  parent.say(boot_now());
  parent.wait();
}

// Asks when it will end, and takes it then.
void wait_for_lease(const Place& place, const RawProcess::Parent& parent) {
  Contender me(place);
  parent.say(boot_now());
  do {
    sleep_until(boot_now() + me.left());
  } while (!me.take_lease());
  parent.say(boot_now());
}

class RawPostgres final : public RawClient {
 public:
  explicit RawPostgres(Place place) : place_(std::move(place)), client_(place_.address) {
    if (client_.is_pooled()) {
      throw std::runtime_error("behind a pooler the minimal client has no lock of its own");
    }
    client_.ask("create table " + place_.table +
                " (name text primary key, term bigint, leader text, until timestamptz)");
    client_.ask("insert into " + place_.table + " values ('scheduler', 0, '', '-infinity')");
  }
  ~RawPostgres() override {
    try {
      passers_.reset();
      client_.ask("drop table " + place_.table);
    } catch (const std::exception&) {  // its name says whose it was
    }
  }
  RawPostgres(const RawPostgres&) = delete;
  RawPostgres& operator=(const RawPostgres&) = delete;

  double hand_over_us() override {
    if (!passers_) {
      passers_.emplace([this](std::size_t number, const RawProcess::Parent& parent) {
        pass(place_, number == 0, parent);
      });
    }
    wait_for_waiters("2");
    return passers_->hand_over_us();
  }

  Crash crash() override {
    if (place_.judge == LeaseJudge::server) return crash_of_lease();
    const auto life = [this](const RawProcess::Parent& parent) { hold(place_, parent); };
    RawProcess holder(life);
    static_cast<void>(holder.hear());
    const RawProcess waiter(life);
    wait_for_waiters("1");
    const Instant killed = boot_now();
    holder.kill();
    return {micros(waiter.hear() - killed)};
  }

  double first_us() override {
    const Instant begun = boot_now();
    PostgresClient me(place_.address);
    me.ask("select pg_advisory_lock(" + place_.key + ")");
    me.ask("update " + place_.table + " set term = term + 1");
    return micros(boot_now() - begun);
  }

 private:
  Crash crash_of_lease() {
    client_.ask("update " + place_.table + " set until = '-infinity'");
    RawProcess holder([this](const RawProcess::Parent& parent) { hold_lease(place_, parent); });
    static_cast<void>(holder.hear());
    const RawProcess waiter(
        [this](const RawProcess::Parent& parent) { wait_for_lease(place_, parent); });
    static_cast<void>(waiter.hear());
    const Instant expires = expiry();
    const Instant killed = boot_now();
    holder.kill();
    const Instant taken = waiter.hear();
    return {micros(taken - killed), micros(taken - expires)};
  }

  // On our clock: the middle of the quickest of some questions is when the server answered it.
  Instant expiry() {
    Contender me(place_);
    Duration quickest = Duration::max();
    Instant expires;
    for (int i = 0; i < 5; ++i) {
      const Instant asked = boot_now();
      const Duration left = me.left();
      const Duration took = boot_now() - asked;
      if (took >= quickest) continue;
      quickest = took;
      expires = asked + took / 2 + left;
    }
    return expires;
  }

  // Nobody tells when a session waits.
  void wait_for_waiters(const std::string& count) {
    const std::string waiting =
        "select count(*) from pg_locks where locktype = 'advisory' and "
        "not granted and objsubid = 2 and (classid::bigint, objid::bigint) = (" +
        place_.key + ")";
    const Instant limit = boot_now() + 10s;
    while (client_.ask(waiting).at(0) != count) {
      if (boot_now() > limit) throw std::runtime_error("nobody waits for the raw lock");
      std::this_thread::sleep_for(1ms);
    }
  }

  const Place place_;
  PostgresClient client_;
  std::optional<RawPassers> passers_;
};

}  // namespace

RawClients make_raw_postgres(const StoreArguments& store) {
  const auto opened = open(store.url, store.options);
  const std::string process = std::to_string(::getpid());
  try {
    Place place{.address = postgres_address(store.url),
                .key = "7163850, " + process,
                .lease = opened->lease(),
                .judge = opened->traits().judge};
    place.table = place.address.schema + "conclave_bench_raw_" + process;
    return {std::make_unique<RawPostgres>(std::move(place)), nullptr, ""};
  } catch (const std::runtime_error& why) {
    return {nullptr, nullptr, "not available: " + std::string(why.what())};
  }
}

}  // namespace conclave::app
