// A candidate: stands for election, and leads when elected.
//
//   auto store = conclave::open("file:");
//   conclave::Candidate me(store, "reports");
//   while (auto term = me.lead(stop)) write_reports(*term);
//
// That is a whole program. lead() waits until this process is elected and gives the term as an
// object: work while it is valid(), stop when stopping() fires, and let it go. Everything else is
// built on that or on events(); see run.hpp, callbacks.hpp, checks.hpp, waits.hpp, coroutine.hpp.
//
// Threads: every function may be called from any thread, also from callbacks. User code never runs
// on the thread that renews, so slow callbacks do not cost the term. By default it runs on a pool
// of at most 32 threads for each store object: when so many callbacks block, those of other
// candidates wait. Who has more of them brings an executor. Stop tokens fire in any case.
//
// fork(): a child reads not-leader, and neither renews nor releases what its parent holds. The
// objects are dead there: calls return at once and do nothing.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include <conclave/event.hpp>
#include <conclave/executor.hpp>
#include <conclave/export.hpp>
#include <conclave/leadership.hpp>
#include <conclave/log.hpp>
#include <conclave/snapshot.hpp>
#include <conclave/store.hpp>

namespace conclave {

// The call does not fit now: start() while running, or lead() and start() at once.
class CONCLAVE_API InvalidState : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// What happens when work has not ended within the drain limit of a voluntary hand-over. In every
// case no renewal counts any more, and the successor leads after the lease.
enum class Overrun {
  report,  // an error event
  abort,   // the process is ended by std::abort(): the surest way to end the work
};

// Everything has a default. Times that are left out follow from the store's lease T; a combination
// that cannot work is refused when the candidate is made.
struct Options {
  std::string id{};        // unique among the candidates; default: host name and a random suffix
  std::string metadata{};  // shown to others while leading, such as an address; up to 4096 bytes

  std::optional<Duration> renew_interval{};   // T/3
  std::optional<Duration> request_timeout{};  // T/8: one call to the store
  std::optional<Duration> grace{};            // T/5: the work is told to stop this long before
  std::optional<Duration> drain_limit{};      // 10 T: how long a voluntary hand-over may take
  std::optional<Duration> cool_down{};        // T: an ex-leader lets others go first this long
  std::optional<Duration> term_limit{};       // none: hand over after that long

  Overrun overrun = Overrun::report;
  std::shared_ptr<Executor> executor{};  // where user code runs; default: a pool of the store's own
  LogSink log{};
};

class CONCLAVE_API Candidate {
 public:
  // Throws std::invalid_argument, with a sentence that names the option and the fix.
  Candidate(std::shared_ptr<Store> store, std::string election, Options options = {});

  // Stops it, as stop() does. From a callback it only asks for it.
  ~Candidate();
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;

  // Campaigns, and waits for the next term. Empty when stopped: by the token, by request_stop(), or
  // because the election was ended. A stop during a term, or after it by another thread, is told to
  // the call that follows. The token that it was given also ends the term that it gave: stopping()
  // fires, and the place is handed over when the Leadership dies.
  // Campaigns only while it is called. Throws InvalidState after start(), or while another call
  // waits.
  [[nodiscard]] std::optional<Leadership> lead(const std::stop_token& stop = {});

  // The same without waiting: `done` is called once, on executor().
  void lead(const std::stop_token& stop, std::function<void(std::optional<Leadership>)> done);

  // Campaigns all the time, until stopped. Throws InvalidState while running.
  void start();

  // Gives up the term or the bid, lets another one go first, and stands again after the cool-down.
  void resign();

  // An application that cannot lead now says so: it hands over, and does not campaign meanwhile.
  void healthy(bool is_healthy) noexcept;

  // Begins to stop: hands over once the work has ended. Never blocks.
  void request_stop() noexcept;

  // The same, and waits: for the work and for callbacks, at most for the drain limit, and for the
  // store, at most two seconds; or for `limit` in all. Nothing is called or reported after it has
  // returned. False when the time has passed first: a callback that is then running may still end,
  // none begins, unless another call of stop() still waits; what they were not told of they are
  // told when the candidate is started or stopped anew. From a callback it equals request_stop(),
  // and the last events follow when the callback has returned.
  bool stop(std::optional<Duration> limit = {});

  // Whether this candidate leads at this instant. Wait-free: one look at the clock.
  [[nodiscard]] bool is_leader() const noexcept;

  [[nodiscard]] Role role() const;
  [[nodiscard]] Snapshot snapshot() const;
  [[nodiscard]] const std::string& id() const noexcept;
  [[nodiscard]] const std::string& election() const noexcept;

  // The present term after start(), for work that a voluntary hand-over has to wait for. Empty when
  // not leading, or when the work was told to stop already.
  [[nodiscard]] std::optional<Leadership> leadership();

  // The queue of this candidate, for one reader; and one for each further reader.
  [[nodiscard]] EventQueue& events();
  [[nodiscard]] std::shared_ptr<EventQueue> subscribe(std::size_t capacity = 64);

  // Where user code of this candidate runs: one task after another, never on the engine.
  [[nodiscard]] Executor& executor();

  // Makes an error of the application an event of the candidate, beside those of the engine.
  void report(Error error);

 private:
  friend class Callbacks;
  friend std::future<Term> future_term(Candidate& candidate);
  friend void run(Candidate& candidate, const std::stop_token& stop,
                  const std::function<void(const Leadership&)>& work);
  std::shared_ptr<runtime::Engine> engine_;
};

}  // namespace conclave
