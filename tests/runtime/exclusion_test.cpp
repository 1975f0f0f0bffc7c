// No two candidates read is_leader() == true at the same instant: the instant at which the call
// read the clock. The clock of this test remembers it, so that every reading has its time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <map>

#include "net/boot_clock.hpp"
#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

thread_local Instant last_reading;

class RememberingClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const noexcept override {
    return last_reading = net::BootClock{}.now();
  }
};

// Never destroyed: a candidate that is gone may still have something to give back, and the loop of
// its store goes on until it has.
const Clock& remembering_clock = *new RememberingClock;  // NOLINT

struct Reading {
  Instant at;
  std::size_t who = 0;
};

// When a term was valid, by its own events.
struct Interval {
  Term term;
  Instant from;
  Instant to;
  std::size_t who = 0;
};

class ExclusionTest : public ::testing::Test {
 protected:
  static constexpr std::size_t candidates = 3;

  ExclusionTest() {
    world.read(remembering_clock);
    for (std::size_t i = 0; i < candidates; ++i) {
      all.push_back(std::make_unique<Candidate>(world.store(), "reports",
                                                Options{.id = std::string(1, char('a' + i))}));
      queues.push_back(all.back()->subscribe(1024));
    }
  }

  // Asks all candidates in turn, and keeps every yes.
  std::vector<Reading> read_until(const std::stop_token& stop) const {
    std::vector<Reading> yes;
    constexpr std::size_t most = 1'000'000;
    while (!stop.stop_requested() && yes.size() < most) {
      for (std::size_t who = 0; who < candidates; ++who) {
        if (all[who]->is_leader()) yes.push_back({last_reading, who});
      }
    }
    return yes;
  }

  // Before the queue is full: what it would forget is what is looked at here.
  void collect(std::size_t who) {
    for (Event& event : drain(*queues[who])) seen[who].push_back(std::move(event));
  }

  std::vector<Interval> intervals() {
    std::vector<Interval> found;
    for (std::size_t who = 0; who < candidates; ++who) {
      collect(who);
      EXPECT_TRUE(alternates(seen[who]));
      for (const Event& event : seen[who]) {
        if (event.kind == EventKind::elected) {
          found.push_back({event.term, event.at, Instant::max(), who});
        } else if (event.kind == EventKind::lost) {
          found.back().to = event.at;
        }
      }
    }
    std::sort(found.begin(), found.end(),
              [](const Interval& a, const Interval& b) { return a.term < b.term; });
    return found;
  }

  // Every yes lies within a term of its candidate, and no two terms overlap.
  void check(const std::vector<Reading>& readings) {
    const auto terms = intervals();
    std::map<Instant, const Interval*> by_begin;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (i > 0) {
        EXPECT_LT(terms[i - 1].term, terms[i].term);
        EXPECT_LE(terms[i - 1].to, terms[i].from) << "term " << terms[i].term.value;
      }
      by_begin.emplace(terms[i].from, &terms[i]);
    }
    for (const Reading& reading : readings) {
      auto next = by_begin.upper_bound(reading.at);
      ASSERT_NE(next, by_begin.begin()) << "a yes before the first term";
      const Interval& term = *std::prev(next)->second;
      ASSERT_EQ(term.who, reading.who) << "in term " << term.term.value;
      ASSERT_LE(reading.at, term.to) << "after the end of term " << term.term.value;
    }
    EXPECT_GT(readings.size(), 0U);
  }

  World world;
  std::vector<std::unique_ptr<Candidate>> all;
  std::vector<std::shared_ptr<EventQueue>> queues;
  std::array<std::vector<Event>, candidates> seen;
};

TEST_F(ExclusionTest, NobodyReadsTwoLeadersAtOneInstantWhileTheyHandOver) {
  std::vector<std::vector<Reading>> readings(2);
  std::atomic<int> terms{0};
  {
    std::vector<std::jthread> readers;
    for (auto& mine : readings) {
      readers.emplace_back([&](const std::stop_token& stop) { mine = read_until(stop); });
    }
    std::vector<std::jthread> leaders;
    for (std::size_t who = 0; who < candidates; ++who) {
      leaders.emplace_back([&, who] {
        while (terms < 400) {
          const auto term = all[who]->lead();
          if (!term) break;
          EXPECT_TRUE(term->valid());
          terms += 1;
          collect(who);
        }
        all[who]->request_stop();
      });
    }
    leaders.clear();
  }
  std::vector<Reading> yes;
  for (const auto& mine : readings) yes.insert(yes.end(), mine.begin(), mine.end());
  check(yes);
}

// The same when terms end by expiry: the leader's store falls silent again and again.
TEST(ExclusionByExpiryTest, NobodyReadsTwoLeadersAtOneInstant) {
  World world;
  world.read(remembering_clock);
  const auto first = world.faulty_store(200ms);
  const auto second = world.faulty_store(200ms);
  Candidate one(first, "reports", {.id = "a"});
  Candidate two(second, "reports", {.id = "b"});
  const auto queue_one = one.subscribe(1024);
  const auto queue_two = two.subscribe(1024);
  auto& news_one = one.events();
  auto& news_two = two.events();
  // Who said yes again and again, and from when to when.
  struct Spell {
    int who = 0;
    Instant first;
    Instant last;
  };
  std::vector<Spell> spells;
  const auto note = [&](int who) {
    if (spells.empty() || spells.back().who != who) spells.push_back({who, last_reading, {}});
    spells.back().last = last_reading;
  };
  {
    std::jthread reader([&](const std::stop_token& stop) {
      while (!stop.stop_requested() && spells.size() < 10'000) {
        if (one.is_leader()) note(1);
        if (two.is_leader()) note(2);
      }
    });
    one.start();
    ASSERT_TRUE(await(news_one, EventKind::elected));
    two.start();
    for (int turn = 0; turn < 3; ++turn) {
      first->partition();
      ASSERT_TRUE(await(news_two, EventKind::elected));
      first->heal();
      second->partition();
      ASSERT_TRUE(await(news_one, EventKind::elected));
      second->heal();
    }
    one.stop();
    two.stop();
  }
  EXPECT_GE(spells.size(), 2U);
  // Between a yes of one and a yes of the other lies the end of a term and the beginning of one.
  std::vector<Event> events = drain(*queue_one);
  for (const Event& event : drain(*queue_two)) events.push_back(event);
  for (std::size_t i = 1; i < spells.size(); ++i) {
    const auto between = [&](EventKind kind) {
      return std::any_of(events.begin(), events.end(), [&](const Event& event) {
        return event.kind == kind && spells[i - 1].last <= event.at && event.at <= spells[i].first;
      });
    };
    ASSERT_TRUE(between(EventKind::lost) && between(EventKind::elected));
  }
}

}  // namespace
}  // namespace conclave::rig
