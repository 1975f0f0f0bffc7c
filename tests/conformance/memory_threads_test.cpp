// Two threads, each with its own executor and store object, share one space in memory.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <latch>
#include <map>
#include <thread>

#include <conclave/memory.hpp>

namespace conclave {
namespace {

class SteadyClock final : public Clock {
 public:
  Instant now() const noexcept override {
    return Instant{std::chrono::steady_clock::now().time_since_epoch()};
  }
};

// Runs its tasks on a thread of its own, until it is destroyed.
class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(const Clock& clock) : clock_(clock) {}

  void post(Task task) override { post_at(clock_.now(), std::move(task)); }
  void post_at(Instant when, Task task) override {
    const std::scoped_lock lock(mutex_);
    tasks_.emplace(when, std::move(task));
    changed_.notify_one();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      if (tasks_.empty()) {
        changed_.wait(lock, stop, [this] { return !tasks_.empty(); });
      } else if (const Duration wait = tasks_.begin()->first - clock_.now(); wait.count() > 0) {
        const Instant due = tasks_.begin()->first;
        changed_.wait_for(lock, stop, wait, [&] { return tasks_.begin()->first < due; });
      } else {
        auto next = tasks_.extract(tasks_.begin());
        lock.unlock();
        next.mapped()();
        lock.lock();
      }
    }
  }

  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::multimap<Instant, Task> tasks_;  // of one time: in the order in which they came
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

// What both threads write down while they hold the place.
struct Ledger {
  std::atomic<int> inside{0};
  std::mutex mutex;
  std::vector<Term> terms;
};

// Takes the place and gives it back again and again. Everything happens on its executor.
class Contender {
 public:
  Contender(std::shared_ptr<MemorySpace> space, const Clock& clock, std::string id, Ledger& ledger,
            std::latch& finished)
      : id_(std::move(id)), ledger_(ledger), finished_(finished), executor_(clock) {
    executor_.post([this, space = std::move(space), &clock] {
      store_ = make_memory_store(
          space, {.lease = std::chrono::minutes{1}, .clock = clock, .executor = executor_});
      store_->observe("election", id_, [this](const Observation& what) { heard(what); });
      bid();
    });
  }

  ~Contender() {
    std::latch gone(1);
    executor_.post([&] {
      store_.reset();
      gone.count_down();
    });
    gone.wait();
  }
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

 private:
  enum class State { bidding, waiting, leading };
  static constexpr int turns = 300;

  void bid() {
    state_ = State::bidding;
    store_->campaign(
        {"election", id_, Attempt{std::hash<std::string>{}(id_), attempt_}, "", {}, {}},
        [this](const CampaignAnswer& answer) { answered(answer); });
  }

  void answered(const CampaignAnswer& answer) {
    state_ = State::waiting;
    if (const auto* granted = std::get_if<Granted>(&answer)) return lead(granted->term);
    EXPECT_TRUE(std::holds_alternative<Held>(answer));
    if (std::exchange(woken_, false)) bid();
  }

  void lead(Term term) {
    state_ = State::leading;
    woken_ = false;
    EXPECT_EQ(ledger_.inside.fetch_add(1), 0) << "two held the place at once";
    {
      const std::scoped_lock lock(ledger_.mutex);
      ledger_.terms.push_back(term);
    }
    ledger_.inside.fetch_sub(1);
    const Attempt attempt{std::hash<std::string>{}(id_), attempt_++};
    store_->resign({"election", id_, attempt, term, true}, [this](const Answer& answer) {
      EXPECT_TRUE(std::holds_alternative<Done>(answer));
      if (++led_ < turns) return bid();
      finished_.count_down();
    });
  }

  void heard(const Observation& what) {
    const bool free =
        std::holds_alternative<Vacant>(what) || std::holds_alternative<YourTurn>(what);
    if (!free) return;
    if (state_ == State::waiting) return bid();
    if (state_ == State::bidding) woken_ = true;
  }

  const std::string id_;
  Ledger& ledger_;
  std::latch& finished_;
  std::uint64_t attempt_ = 1;
  int led_ = 0;
  State state_ = State::leading;
  bool woken_ = false;  // while bidding: the answer may be older
  std::shared_ptr<Store> store_;
  ThreadExecutor executor_;
};

TEST(MemoryThreads, TwoThreadsNeverHoldThePlaceTogetherAndTermsGrow) {
  const SteadyClock clock;
  const auto space = make_memory_space();
  Ledger ledger;
  std::latch finished(2);
  Contender first(space, clock, "a", ledger, finished);
  Contender second(space, clock, "b", ledger, finished);
  finished.wait();
  EXPECT_EQ(ledger.terms.size(), 600U);
  for (std::size_t i = 1; i < ledger.terms.size(); ++i) {
    EXPECT_LT(ledger.terms[i - 1], ledger.terms[i]);
  }
}

}  // namespace
}  // namespace conclave
