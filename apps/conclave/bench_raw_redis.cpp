// A Redis server's hand-over without the library, as the manual of Redis has it: a key that
// expires, SET NX PX to take it, a script that deletes it if it is still one's own, and a message
// that wakes the next one.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "apps/conclave/bench.hpp"
#include "apps/conclave/bench_raw_process.hpp"
#include "apps/conclave/bench_redis_client.hpp"
#include "apps/conclave/clock.hpp"

namespace conclave::app {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view release_script =
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
    "redis.call('DEL', KEYS[1]) "
    "redis.call('PUBLISH', KEYS[1], ARGV[1]) "
    "return 1";

constexpr std::string_view expiry_script =
    "local time = redis.call('TIME') "
    "return {time[1], time[2], redis.call('PTTL', KEYS[1])}";

struct Lock {
  RedisAddress address;
  std::string key;    // and the channel on which its release is told
  std::string lease;  // milliseconds
};

bool take(RedisClient& client, const Lock& lock, std::string_view id) {
  return client.ask({"SET", lock.key, id, "NX", "PX", lock.lease}).exists;
}

// Holds the lock whenever it can get it, and lets go when it is told to. It says when it has got
// it, and when it was about to let go.
class Passer {
 public:
  Passer(const Lock& lock, std::string id, const RawProcess::Parent& parent)
      : lock_(lock), id_(std::move(id)), parent_(parent) {
    news_.ask({"SUBSCRIBE", lock_.key});
  }

  void live() {
    if (take(client_, lock_, id_)) holds_ = true;
    parent_.say(boot_now());
    const int keep = std::max(std::stoi(lock_.lease) / 3, 1);
    while (true) {
      std::array<pollfd, 2> wanted{{{parent_.fd(), POLLIN, 0}, {news_.fd(), POLLIN, 0}}};
      const int ready = ::poll(wanted.data(), wanted.size(), keep);
      if (ready == 0 && holds_) client_.ask({"PEXPIRE", lock_.key, lock_.lease});
      if (wanted[1].revents != 0) hear();
      if (wanted[0].revents != 0) let_go();
    }
  }

 private:
  void hear() {
    do {
      const RawReply news = news_.read();
      const bool by_other = news.parts.size() == 3 && news.parts[2].text != id_;
      if (!by_other || !take(client_, lock_, id_)) continue;
      const Instant taken = boot_now();
      holds_ = true;
      parent_.say(taken);
    } while (news_.has_more());
  }

  void let_go() {
    parent_.wait();
    holds_ = false;
    const Instant begun = boot_now();
    client_.ask({"EVAL", release_script, "1", lock_.key, id_});
    parent_.say(begun);
  }

  const Lock& lock_;
  const std::string id_;
  const RawProcess::Parent& parent_;
  RedisClient client_{lock_.address};
  RedisClient news_{lock_.address};
  bool holds_ = false;
};

// Holds it until it is killed.
void hold(const Lock& lock, const RawProcess::Parent& parent) {
  RedisClient client(lock.address);
  if (!take(client, lock, "holder")) throw std::runtime_error("the raw lock is taken");
  parent.say(boot_now());
  parent.wait();
}

// Asks when the lock will expire, and takes it then.
void wait_for_expiry(const Lock& lock, const RawProcess::Parent& parent) {
  RedisClient client(lock.address);
  bool told = false;
  do {
    const auto left = client.ask({"PTTL", lock.key}).number;
    const Instant expires = boot_now() + milliseconds{std::max<std::int64_t>(left, 0)};
    if (!std::exchange(told, true)) parent.say(boot_now());
    sleep_until(expires);
  } while (!take(client, lock, "waiter"));
  parent.say(boot_now());
}

class RawRedis final : public RawClient {
 public:
  RawRedis(const RedisAddress& address, Duration lease)
      : lock_{address, address.prefix + "bench-raw-" + std::to_string(::getpid()),
              std::to_string(std::chrono::ceil<milliseconds>(lease).count())},
        client_(lock_.address) {}
  ~RawRedis() override {
    try {
      passers_.reset();
      client_.ask({"DEL", lock_.key});
    } catch (const std::exception&) {  // it expires
    }
  }
  RawRedis(const RawRedis&) = delete;
  RawRedis& operator=(const RawRedis&) = delete;

  double hand_over_us() override {
    if (!passers_) start();
    return passers_->hand_over_us();
  }

  Crash crash() override {
    client_.ask({"DEL", lock_.key});
    RawProcess holder([this](const RawProcess::Parent& parent) { hold(lock_, parent); });
    static_cast<void>(holder.hear());
    const RawProcess waiter(
        [this](const RawProcess::Parent& parent) { wait_for_expiry(lock_, parent); });
    static_cast<void>(waiter.hear());
    const Instant expires = expiry();
    const Instant killed = boot_now();
    holder.kill();
    const Instant taken = waiter.hear();
    return {micros(taken - killed), micros(taken - expires)};
  }

  double first_us() override {
    const Instant begun = boot_now();
    RedisClient client(lock_.address);
    if (!take(client, lock_, "first")) throw std::runtime_error("the raw lock is taken");
    const Instant taken = boot_now();
    client.ask({"DEL", lock_.key});
    return micros(taken - begun);
  }

 private:
  void start() {
    client_.ask({"DEL", lock_.key});
    passers_.emplace([this](std::size_t number, const RawProcess::Parent& parent) {
      Passer(lock_, std::to_string(number), parent).live();
    });
  }

  // On our clock: the middle of the quickest of some questions is when the server answered it.
  Instant expiry() {
    Duration quickest = Duration::max();
    Instant expires;
    for (int i = 0; i < 5; ++i) {
      const Instant asked = boot_now();
      const RawReply reply = client_.ask({"EVAL", expiry_script, "1", lock_.key});
      const Duration took = boot_now() - asked;
      if (took >= quickest) continue;
      quickest = took;
      const auto past = std::chrono::microseconds{std::stoll(reply.parts.at(1).text) % 1000};
      expires = asked + took / 2 + milliseconds{reply.parts.at(2).number} - past;
    }
    return expires;
  }

  const Lock lock_;
  RedisClient client_;
  std::optional<RawPassers> passers_;
};

}  // namespace

RawClients make_raw_redis(const StoreArguments& store) {
  const auto address = redis_address(store.url);
  if (!address) return {nullptr, nullptr, "not available: the minimal client has no TLS"};
  const Duration lease = open(store.url, store.options)->lease();
  return {std::make_unique<RawRedis>(*address, lease), nullptr, ""};
}

}  // namespace conclave::app
