// One candidate: a machine, what drives it, and what users see of it.
//
// The machine is stepped on the store's executor only (engine_loop.cpp). Users call from any thread
// (engine.cpp): they change what is wanted, under the lock, and the loop brings it about. What is
// needed seldom lives in Extras: there may be a hundred thousand candidates in a process.
#pragma once

#include <atomic>
#include <forward_list>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include <conclave/candidate.hpp>

#include "core/machine.hpp"
#include "runtime/driver.hpp"
#include "runtime/strand.hpp"
#include "runtime/validity.hpp"

namespace conclave::runtime {

// Keeps a term for user code that it calls. When that is not called any more, nobody works.
class Keeper {
 public:
  virtual ~Keeper() = default;
  virtual void fall_silent() = 0;
};

class Engine final : public std::enable_shared_from_this<Engine> {
 public:
  // Called with the next term, or with nothing; at once, and on any thread.
  using Waiter = std::function<void(std::optional<Leadership>)>;

  Engine(std::shared_ptr<Driver> driver, std::string election, Options options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // ---- from any thread (engine.cpp, engine_stop.cpp); see conclave/candidate.hpp

  void start();
  void begin_run();  // by run(); throws InvalidState while another one goes on
  void end_run() noexcept;
  std::uint64_t wait_to_lead(Waiter waiter);  // names the waiter, for forget()
  void forget(std::uint64_t waiter);
  void lead_no_more();  // lead() was empty at once: nobody has to be told of a stop
  void resign();
  void healthy(bool is_healthy) noexcept;
  void request_stop() noexcept;
  bool stop(std::optional<Duration> limit);
  void abandon() noexcept;  // the candidate is gone: what stop() held back is dropped
  void report(Error error);
  // Calls user code: reports what it throws, and counts it when it takes longer than the grace.
  static void call(const std::weak_ptr<Engine>& of, const std::string& name,
                   const std::function<void()>& user_code);
  void log_to(LogSink sink);
  void keep(std::shared_ptr<EventQueue> queue);  // as long as the engine lives
  void let_go(const EventQueue* queue);          // or until then
  void tell_silence(const std::weak_ptr<Keeper>& keeper);

  [[nodiscard]] bool is_leader() const noexcept { return validity_->holds(driver_->clock()); }
  [[nodiscard]] bool holds(Term term, Duration work) const noexcept {
    return validity_->holds(driver_->clock(), term, work);
  }
  [[nodiscard]] Role role() const;
  [[nodiscard]] Snapshot snapshot() const;
  [[nodiscard]] const std::string& id() const noexcept { return machine_.candidate(); }
  [[nodiscard]] const std::string& election() const noexcept { return election_; }
  [[nodiscard]] std::optional<Leadership> leadership();
  void work_ended(Term term) noexcept;  // a Leadership has died
  // That token also ends the term, if there is one.
  static void end_with(std::optional<Leadership>& term, const std::stop_token& stop);
  [[nodiscard]] EventQueue& events();
  [[nodiscard]] std::shared_ptr<EventQueue> subscribe(std::size_t capacity);
  [[nodiscard]] std::shared_ptr<Strand> strand();
  [[nodiscard]] bool in_forked_child() const noexcept { return driver_->in_forked_child(); }

  // ---- on the store's executor (engine_loop.cpp)

  void begin();
  void tick(Instant now);
  void renewal_answered(core::OpId op, RenewAnswer answer);

 private:
  friend class Driver;

  enum class Mode : std::uint8_t { idle, started, leading };  // by start(), by lead()

  // The work of the present term.
  struct Work {
    Term term;
    std::stop_source stop;
    std::uint32_t claims = 0;  // Leaderships that live
  };

  struct Extras {
    std::string metadata;
    std::optional<Duration> term_limit;
    Overrun overrun = Overrun::report;
    std::shared_ptr<Executor> executor;
    std::shared_ptr<Strand> strand;
    std::shared_ptr<EventQueue> own_queue;
    std::vector<std::shared_ptr<EventQueue>> kept;
    std::vector<std::weak_ptr<EventQueue>> queues;
    std::vector<std::weak_ptr<Keeper>> keepers;
    Waiter waiter;
    std::uint64_t waiter_number = 0;
    bool in_run = false;     // run() goes on, in a lead() or in its work
    bool led = false;        // the last lead() has given a term, and may be followed by another
    bool stop_owed = false;  // somebody who works between two lead()s has to be told of a stop
    std::optional<std::thread::id> stopped_by;  // likewise, but between two terms: unless it was he

    void forgive() {  // nothing is owed any more
      led = stop_owed = false;
      stopped_by.reset();
    }

    std::optional<Work> work;
    std::optional<Instant> limit_at;  // of the present term
    std::uint32_t drain_overruns = 0;
    std::uint32_t callback_overruns = 0;
    std::array<std::uint64_t, error_code_count> failures{};
    bool unhealthy = false;  // as the user said
  };

  // What a step has brought about, to be told once the lock is released.
  struct Tidings {
    Instant stepped{};
    Instant deadline{Instant::max()};  // before the step, while leading
    std::vector<std::shared_ptr<EventQueue>> ready;
    std::vector<std::shared_ptr<EventQueue>> heard;  // not to be let go under the lock
    std::optional<std::pair<Waiter, std::optional<Leadership>>> waited;
    std::optional<std::stop_source> stopping;
    std::uint32_t over = 0;  // the run that has ended
    bool muted = false;
    bool abort = false;

    void tell(Engine& engine);
  };

  [[nodiscard]] std::mutex& mutex() const { return driver_->mutex_of(*this); }
  [[nodiscard]] static std::unique_ptr<Extras> special(Options options);
  [[nodiscard]] Extras& extras();        // under the lock
  std::uint32_t ask_to_stop() noexcept;  // says which run ends
  bool wait_for_end(std::uint32_t run, std::optional<Duration> limit);
  void end_stop(std::uint32_t run, bool stopped);
  void speak();
  [[nodiscard]] std::thread::id caller() const noexcept;  // under the lock
  template <typename Input>
  void post() {  // an input that says it all by its kind
    driver_->post([self = shared_from_this()] { self->feed(Input{}); });
  }

  // the loop
  void feed(const core::Input& input);
  std::optional<core::Input> step(const core::Input& input, Tidings& tidings);
  [[nodiscard]] std::optional<core::Input> chore() const;
  [[nodiscard]] bool wants_to_stand() const;
  void settle();
  [[nodiscard]] bool limit_is_due(Instant now);

  // under the lock: what users see of an output
  void note_start(Instant now, Tidings& tidings);
  void note_contact(const core::Input& input, Instant now);
  void note(const core::DoRenew& call, Instant now, Tidings& tidings);
  void note(const core::Elected& news, Instant now, Tidings& tidings);
  void note(const core::Extended& news, Instant now, Tidings& tidings);
  void note(const core::Jeopardy& news, Instant now, Tidings& tidings);
  void note(const core::Stopping& news, Instant now, Tidings& tidings);
  void note(const core::DrainOverrun& news, Instant now, Tidings& tidings);
  void note(const core::Lost& news, Instant now, Tidings& tidings);
  void note(const core::LeaderChanged& news, Instant now, Tidings& tidings);
  void note(const core::Failed& news, Instant now, Tidings& tidings);
  void note(const core::HasStopped& news, Instant now, Tidings& tidings);
  template <typename Call>
  void note(const Call&, Instant, Tidings&) {}
  void note_role(Instant now, Tidings& tidings);
  void note_leader(bool is_there, Instant now);
  void note_sight(const core::Input& input, Instant now);
  void publish();
  void emit(const Event& event, Tidings& tidings);
  void emit_present(EventQueue& queue) const;

  // after the lock: what the store is asked
  void carry_out(const core::DoCampaign& call);
  void carry_out(const core::DoRenew& call);
  void carry_out(const core::DoResign& call);
  void carry_out(const core::DoObserve& call);
  void carry_out(const core::DoCancel& call);
  template <typename News>
  void carry_out(const News&) {}
  void answered(core::OpId op, const core::Input& input);

  const std::shared_ptr<Driver> driver_;
  const std::string election_;

  // under the lock; the machine is changed by the loop only
  core::Machine machine_;
  std::unique_ptr<Extras> extras_;
  Validity* const validity_;                   // taken when nothing can throw any more
  Instant leaderless_since_ = Instant::max();  // as long as somebody leads
  Duration leaderless_{};
  Instant last_contact_;  // the beginning of time: never
  Instant leader_seen_;   // the one that leads as far as is known
  std::uint64_t renewals_ = 0;
  std::uint32_t terms_ = 0;
  std::uint32_t transitions_ = 0;
  std::uint32_t late_renewals_ = 0;
  std::uint32_t runs_ = 0;   // that were begun
  std::uint32_t over_ = 0;   // of them: that have ended, and everybody was told
  std::uint16_t stops_ = 0;  // calls of stop() that wait
  Mode mode_ = Mode::idle;
  Role role_ = Role::bootstrap;  // as last told
  bool begun_ = false;           // the machine knows of the present run
  bool stop_asked_ = false;
  bool muted_ = false;      // the last stop() has given up waiting: nobody is called any more
  bool announced_ = false;  // elected was told, lost not yet

  // the loop's own
  bool late_ = false;                // this step comes too late for its wake-up
  bool first_bid_ = false;           // is not answered yet
  std::atomic<bool> begins_{false};  // waits for its turn to start
  static constexpr std::uint32_t not_listed = 0xffffffff;
  std::uint32_t heap_index_ = not_listed;
  std::uint32_t renewal_index_ = 0;
  Instant wake_at_;
  std::shared_ptr<Engine> self_;  // while it runs or has something to give back
  std::forward_list<std::pair<core::OpId, Operation>> calls_;  // mostly none
  Operation observation_ = 0;
  std::shared_ptr<Batch> renewal_;
};

}  // namespace conclave::runtime
