#include <conclave/candidate.hpp>

#include <future>
#include <mutex>

#include "runtime/engine.hpp"

namespace conclave {

using runtime::Engine;

namespace {

std::shared_ptr<Engine> make_engine(const std::shared_ptr<Store>& store, std::string election,
                                    Options options) {
  if (!store) throw std::invalid_argument("a candidate needs a store: open one first");
  LogSink log = std::move(options.log);
  auto engine =
      std::make_shared<Engine>(runtime::Driver::of(store), std::move(election), std::move(options));
  if (log) engine->log_to(std::move(log));
  return engine;
}

// Gives a lead() up when its token fires, unless it has ended before; from two threads.
class Cancel {
 public:
  void when(const std::stop_token& stop, std::function<void()> give_up) {
    auto made = std::make_unique<OnStop>(stop, std::move(give_up));
    const std::scoped_lock lock(mutex_);
    if (!over_) on_stop_ = std::move(made);
  }
  void end() {
    std::unique_ptr<OnStop> ended;
    const std::scoped_lock lock(mutex_);
    over_ = true;
    ended = std::move(on_stop_);
  }

 private:
  using OnStop = std::stop_callback<std::function<void()>>;
  std::mutex mutex_;
  std::unique_ptr<OnStop> on_stop_;
  bool over_ = false;
};

}  // namespace

// NOLINTNEXTLINE(performance-unnecessary-value-param): shares it
Candidate::Candidate(std::shared_ptr<Store> store, std::string election, Options options)
    : engine_(make_engine(store, std::move(election), std::move(options))) {}

Candidate::~Candidate() {
  if (engine_->in_forked_child()) {
    net::leave_alone(std::move(engine_));
  } else {
    engine_->stop(std::nullopt);
    engine_->abandon();
  }
}

std::optional<Leadership> Candidate::lead(const std::stop_token& stop) {
  if (engine_->in_forked_child()) return std::nullopt;
  if (stop.stop_requested()) {
    engine_->lead_no_more();
    return std::nullopt;
  }
  std::promise<std::optional<Leadership>> promise;
  auto term = promise.get_future();
  const auto waiter = engine_->wait_to_lead(
      [&promise](std::optional<Leadership> next) { promise.set_value(std::move(next)); });
  // Whoever takes the waiter out calls it, exactly once.
  const std::stop_callback cancel(stop, [this, waiter] { engine_->forget(waiter); });
  std::optional<Leadership> given = term.get();
  Engine::end_with(given, stop);
  return given;
}

void Candidate::lead(const std::stop_token& stop,
                     std::function<void(std::optional<Leadership>)> done) {
  if (engine_->in_forked_child()) return;
  // `done` may run before this returns, and end the life of the candidate, of the token and of
  // whoever called: from here on only what is ours is used.
  const std::shared_ptr<Engine> engine = engine_;
  const std::stop_token token = stop;  // NOLINT(performance-unnecessary-copy-initialization)
  auto cancel = std::make_shared<Cancel>();
  auto answer = [weak = std::weak_ptr(engine), strand = engine->strand(), cancel, token,
                 done = std::move(done)](std::optional<Leadership> term) {
    auto next = std::make_shared<std::optional<Leadership>>(std::move(term));
    strand->post([weak, cancel, token, next, done] {
      cancel->end();
      Engine::end_with(*next, token);
      Engine::call(weak, "the callback of lead()", [&] { done(std::move(*next)); });
    });
  };
  if (token.stop_requested()) {
    engine->lead_no_more();
    return answer(std::nullopt);
  }
  const auto waiter = engine->wait_to_lead(std::move(answer));
  cancel->when(token, [weak = std::weak_ptr(engine), waiter] {
    if (const auto alive = weak.lock()) alive->forget(waiter);
  });
}

void Candidate::start() { engine_->start(); }
void Candidate::resign() { engine_->resign(); }
void Candidate::healthy(bool is_healthy) noexcept { engine_->healthy(is_healthy); }
void Candidate::request_stop() noexcept { engine_->request_stop(); }
bool Candidate::stop(std::optional<Duration> limit) { return engine_->stop(limit); }
bool Candidate::is_leader() const noexcept { return engine_->is_leader(); }
Role Candidate::role() const { return engine_->role(); }
Snapshot Candidate::snapshot() const { return engine_->snapshot(); }
const std::string& Candidate::id() const noexcept { return engine_->id(); }
const std::string& Candidate::election() const noexcept { return engine_->election(); }
std::optional<Leadership> Candidate::leadership() { return engine_->leadership(); }
EventQueue& Candidate::events() { return engine_->events(); }
std::shared_ptr<EventQueue> Candidate::subscribe(std::size_t capacity) {
  return engine_->subscribe(capacity);
}
Executor& Candidate::executor() { return *engine_->strand(); }
void Candidate::report(Error error) { engine_->report(std::move(error)); }

}  // namespace conclave
