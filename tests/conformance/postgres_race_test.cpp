// Many processes that bid, renew, resign and die at random, on a real server: at no instant two of
// them may believe in the same election, and terms only grow.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <map>
#include <mutex>
#include <thread>

#include "conformance/postgres_bidder.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds lease = 100ms;

// What everybody believes, by a clock that all of them share.
class Witness {
 public:
  explicit Witness(Kind kind) : kind_(kind) {}

  // False for who hears of it too late to believe in it.
  bool is_granted(const std::string& election, int who, std::int64_t term, Clock::time_point sent) {
    const std::scoped_lock lock(mutex_);
    if (is_late(sent)) return false;
    Belief& belief = beliefs_[election];
    EXPECT_FALSE(belongs_to_another(belief, who)) << election << " has two leaders";
    EXPECT_GT(term, belief.term) << election;
    belief = {who, term, sent + lease * 4 / 5};
    grants_ += 1;
    return true;
  }
  void is_renewed(const std::string& election, int who, Clock::time_point sent) {
    const std::scoped_lock lock(mutex_);
    if (is_late(sent)) return;
    Belief& belief = beliefs_[election];
    EXPECT_FALSE(belongs_to_another(belief, who)) << election << " was renewed for another";
    if (belief.who == who) belief.until = sent + lease * 4 / 5;
  }
  void is_over(const std::string& election, int who) {
    const std::scoped_lock lock(mutex_);
    if (beliefs_[election].who == who) beliefs_[election].who = nobody;
  }
  void is_short() {
    const std::scoped_lock lock(mutex_);
    short_ways_ += 1;
  }
  [[nodiscard]] int short_ways() {
    const std::scoped_lock lock(mutex_);
    return short_ways_;
  }
  [[nodiscard]] int grants() {
    const std::scoped_lock lock(mutex_);
    return grants_;
  }

 private:
  static constexpr int nobody = -1;
  struct Belief {
    int who = nobody;
    std::int64_t term = 0;
    Clock::time_point until{};
  };
  // Who has an advisory lock believes in its term until it hears otherwise; others by their clock.
  [[nodiscard]] bool belongs_to_another(const Belief& belief, int who) const {
    if (belief.who == nobody || belief.who == who) return false;
    return kind_ == Kind::advisory || Clock::now() < belief.until;
  }
  [[nodiscard]] bool is_late(Clock::time_point sent) const {
    return kind_ != Kind::advisory && Clock::now() >= sent + lease * 4 / 5;
  }

  Kind kind_;
  std::mutex mutex_;
  std::map<std::string, Belief> beliefs_;
  int grants_ = 0;
  int short_ways_ = 0;
};

class Contender {
 public:
  Contender(const servers::PostgresServer& server, Kind kind, int number, Witness& witness)
      : server_(server),
        kind_(kind),
        number_(number),
        witness_(witness),
        random_(static_cast<std::minstd_rand::result_type>(number)) {}
  ~Contender() { die(); }
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  void step() {
    if (!bidder_) {
      life_ += 1;
      bidder_ = std::make_unique<Bidder>(server_, kind_, std::to_string(me()), lease);
    }
    const auto act = random_() % 12;
    if (act < 5) return bid();
    if (act < 6) return take();
    if (act < 8) return renew();
    if (act < 9) return resign();
    if (act < 10) return die();
    if (act < 11) return connect_anew();
    std::this_thread::sleep_for(
        std::chrono::milliseconds(random_() % 200));  // longer than its lease
  }

 private:
  struct Held {
    std::string attempt;
    std::int64_t term = 0;
  };
  [[nodiscard]] int me() const { return number_ * 1000 + life_; }

  void bid() {
    std::vector<Asked> bids;
    for (char name = 'a'; name < 'f'; ++name) {
      if (held_.contains({name}) || random_() % 2 == 0) continue;
      const auto in_time = std::chrono::duration_cast<std::chrono::microseconds>(
          (std::chrono::system_clock::now() + 1s).time_since_epoch());
      bids.push_back(
          {.name = {name}, .attempt = std::to_string(random_()), .expected = in_time.count()});
    }
    if (bids.empty()) return;
    const auto sent = Clock::now();
    const auto told = bidder_->campaign(bids);
    for (std::size_t i = 0; i < bids.size(); ++i) {
      if (told[i].word == "granted") is_granted(bids[i].name, bids[i].attempt, told[i].term, sent);
    }
  }

  // The short way, to whatever was released.
  void take() {
    for (char name = 'a'; name < 'f'; ++name) {
      if (held_.contains({name})) continue;
      const std::string attempt = std::to_string(random_());
      const auto sent = Clock::now();
      const auto taken = bidder_->take({name}, attempt);
      if (taken.empty()) continue;
      witness_.is_short();
      is_granted({name}, attempt, std::stoll(*taken.at(0).at(2)), sent);
    }
  }

  // What it holds goes with it, where that is not the session's.
  void connect_anew() {
    if (kind_ == Kind::lease) bidder_->open_anew();
  }

  void is_granted(const std::string& name, const std::string& attempt, std::int64_t term,
                  Clock::time_point sent) {
    if (witness_.is_granted(name, me(), term, sent)) held_[name] = {attempt, term};
  }

  void renew() {
    for (const auto& [name, held] : std::map(held_)) {
      auto sent = Clock::now();
      auto [word, has_news] = bidder_->renew(name, held.attempt, held.term);
      if (has_news) {
        sent = Clock::now();
        std::tie(word, has_news) = bidder_->renew(name, held.attempt, held.term);
      }
      if (word == "renewed" && !has_news) {
        witness_.is_renewed(name, me(), sent);
      } else if (word != "renewed") {
        give_up(name);
      }
    }
  }

  void resign() {
    if (held_.empty()) return;
    const auto [name, held] = *held_.begin();
    give_up(name);
    bidder_->resign(name, held.attempt, held.term);
  }

  // As by SIGKILL: only who holds a lock is over for others at once.
  void die() {
    if (kind_ == Kind::advisory) {
      for (const auto& [name, held] : std::map(held_)) witness_.is_over(name, me());
    }
    held_.clear();
    bidder_.reset();
  }

  void give_up(const std::string& name) {
    witness_.is_over(name, me());
    held_.erase(name);
  }

  const servers::PostgresServer& server_;
  Kind kind_;
  int number_;
  Witness& witness_;
  std::minstd_rand random_;
  int life_ = 0;
  std::unique_ptr<Bidder> bidder_;
  std::map<std::string, Held> held_;
};

class PostgresRace : public ::testing::TestWithParam<Kind> {};

TEST_P(PostgresRace, R13_NoTwoBelieveInTheSameElection) {
  const servers::PostgresServer server;
  server.exec(sql(postgres::create_tables));
  Witness witness(GetParam());
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&, i] {
      Contender contender(server, GetParam(), i + 1, witness);
      for (int step = 0; step < 200; ++step) contender.step();
    });
  }
  for (auto& each : threads) each.join();
  EXPECT_GT(witness.grants(), 50);
  EXPECT_GT(witness.short_ways(), 0);
}

// Elections that nobody has heard of: who makes their rows has to wait for who does so, too.
TEST_P(PostgresRace, BatchesOfNewElectionsInAnyOrderDoNotWaitInACircle) {
  const servers::PostgresServer server;
  server.exec(sql(postgres::create_tables));
  constexpr int rounds = 20;
  constexpr int count = 200;
  std::atomic<int> granted{0};
  std::barrier together(2);
  const auto bid_for_all = [&](int who) {
    Bidder bidder(server, GetParam(), std::to_string(who));
    for (int round = 0; round < rounds; ++round) {
      std::vector<Asked> bids;
      for (int i = 0; i < count; ++i) {
        bids.push_back({.name = std::to_string(round) + " " + std::to_string(i),
                        .attempt = std::to_string(who) + " " + std::to_string(i)});
      }
      if (who == 1) std::reverse(bids.begin(), bids.end());
      together.arrive_and_wait();
      try {
        for (const Told& each : bidder.campaign(bids)) granted += each.word == "granted" ? 1 : 0;
      } catch (const std::exception& circle) {  // the server ends it so
        ADD_FAILURE() << circle.what();
      }
    }
    together.arrive_and_wait();  // with its session its places would be free for the other one
  };
  std::thread one(bid_for_all, 0);
  std::thread other(bid_for_all, 1);
  one.join();
  other.join();
  EXPECT_EQ(granted, rounds * count);
}

INSTANTIATE_TEST_SUITE_P(All, PostgresRace,
                         ::testing::Values(Kind::advisory, Kind::lease, Kind::strict),
                         [](const auto& each) { return to_text(each.param); });

}  // namespace
}  // namespace conclave::conformance
