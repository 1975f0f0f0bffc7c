// What the candidates of one store object share: the wake-ups, the renewals that travel together,
// and the threads for user code.
#pragma once

#include <array>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <conclave/store.hpp>

#include "core/machine.hpp"
#include "net/fork.hpp"
#include "runtime/pool.hpp"
#include "runtime/validity.hpp"

namespace conclave::runtime {

class Engine;

// Renewals that were sent in one call. A candidate that gives its renewal up leaves the others
// alone: the call is cancelled when the last one has.
struct Batch {
  struct Member {
    std::shared_ptr<Engine> engine;  // none once it is answered or given up
    core::OpId op{};
  };
  std::vector<Member> members;
  std::vector<Renewal> renewals;  // until it is sent
  Operation operation = 0;
  std::size_t open = 0;
};

class Driver : public std::enable_shared_from_this<Driver> {
 public:
  // The one of this store object; made for the first candidate.
  [[nodiscard]] static std::shared_ptr<Driver> of(const std::shared_ptr<Store>& store);

  explicit Driver(std::shared_ptr<Store> store);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // ---- from any thread

  [[nodiscard]] Store& store() noexcept { return *store_; }
  [[nodiscard]] const Clock& clock() const noexcept { return clock_; }
  [[nodiscard]] bool in_forked_child() const noexcept { return fork_.in_child(); }
  void post(Task task) { store_->executor().post(std::move(task)); }

  // Starts a candidate when its turn has come: a hundred thousand that begin together do not flood
  // the store, nor the memory with what is in flight.
  void begin(std::shared_ptr<Engine> engine);

  // Candidates with the same options share one.
  [[nodiscard]] std::shared_ptr<const core::Pace> share(Timing timing);
  [[nodiscard]] std::shared_ptr<core::Random> random() const { return random_; }

  // Where user code runs by default; and where stop tokens fire, whatever else is blocked.
  [[nodiscard]] std::shared_ptr<Executor> pool();
  [[nodiscard]] std::shared_ptr<Executor> stopper();
  [[nodiscard]] ValidityPages& pages() noexcept { return pages_; }

  // A lock and a condition of each candidate would cost more than the rest of it.
  [[nodiscard]] std::mutex& mutex_of(const Engine& engine) noexcept;
  [[nodiscard]] std::condition_variable& changed_of(const Engine& engine) noexcept;

  // ---- on the store's executor

  // Everything that candidates do within a round travels together.
  class Round {
   public:
    explicit Round(Driver& driver) : driver_(driver) { driver_.rounds_ += 1; }
    ~Round() {
      if (--driver_.rounds_ == 0) driver_.end_round();
    }
    Round(const Round&) = delete;
    Round& operator=(const Round&) = delete;

   private:
    Driver& driver_;
  };

  // Of a candidate that has just begun.
  void first_bid_sent() { first_bids_ += 1; }
  void first_bid_answered();

  void wake_at(Engine& engine, std::optional<Instant> when);
  std::shared_ptr<Batch> renew(std::shared_ptr<Engine> engine, core::OpId op, Renewal renewal,
                               std::uint32_t& index);
  void give_up(Batch& batch, std::size_t index);

 private:
  static constexpr std::size_t stripes = 64;

  [[nodiscard]] std::shared_ptr<Executor> make_pool(Staff staff);
  [[nodiscard]] std::size_t stripe_of(const Engine& engine) const noexcept;
  void begin_some();
  void end_round();
  static void drop_given_up(Batch& batch);
  void send_renewals();
  void arm();
  void on_timer();

  // the heap of those who have a wake-up, the earliest first; each knows its own index
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);
  void put(std::size_t index, Engine* engine);

  const std::shared_ptr<Store> store_;
  const Clock& clock_;
  const std::shared_ptr<core::Random> random_;  // used by the loop only
  net::ForkMark fork_;
  ValidityPages pages_;
  std::array<std::mutex, stripes> mutexes_;
  std::array<std::condition_variable, stripes> changed_;

  std::mutex mutex_;
  std::deque<std::shared_ptr<Engine>> beginners_;
  std::shared_ptr<Executor> pool_;
  std::shared_ptr<Executor> stopper_;
  core::RenewalGrid grid_;
  std::size_t party_ = 0;  // how many have the present grid
  std::shared_ptr<const core::Pace> pace_;

  std::vector<Engine*> heap_;
  std::optional<Instant> armed_;
  std::shared_ptr<Batch> due_;  // the renewals of this round
  std::size_t first_bids_ = 0;  // that are not answered yet
  bool held_back_ = false;      // beginners wait for that
  std::size_t rounds_ = 0;
};

}  // namespace conclave::runtime
