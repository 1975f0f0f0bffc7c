// What users ask of a candidate, from any thread.
#include "runtime/engine.hpp"

#include <algorithm>

#include <conclave/names.hpp>

#include "runtime/contain.hpp"
#include "runtime/identity.hpp"
#include "runtime/listener.hpp"

namespace conclave::runtime {
namespace {

constexpr Duration longest_term = std::chrono::hours{24 * 365};

std::string checked_id(std::string id) {
  if (id.empty()) return make_id();
  if (const auto error = check_candidate_id(id)) throw std::invalid_argument(error->message);
  return id;
}

std::string checked_metadata(std::string metadata) {
  if (const auto error = check_metadata(metadata)) throw std::invalid_argument(error->message);
  return metadata;
}

std::string checked_election(std::string election) {
  if (const auto error = check_election_name(election)) throw std::invalid_argument(error->message);
  return election;
}

Timing checked_timing(const Store& store, const Options& options) {
  const TimingOptions wanted{store.lease(), options.renew_interval, options.request_timeout,
                             options.grace, options.drain_limit,    options.cool_down};
  auto timing = resolve_timing(wanted, timing_limits(store.traits()));
  if (!timing) throw std::invalid_argument(timing.error().message);
  if (options.term_limit && *options.term_limit <= timing->grace) {
    throw std::invalid_argument("term_limit has to be longer than the grace, or be left out");
  }
  if (options.term_limit && *options.term_limit > longest_term) {
    throw std::invalid_argument("term_limit has to be at most one year, or be left out");
  }
  return *std::move(timing);
}

}  // namespace

Engine::Engine(std::shared_ptr<Driver> driver, std::string election, Options options)
    : driver_(std::move(driver)),
      election_(checked_election(std::move(election))),
      machine_({checked_id(std::move(options.id)),
                driver_->share(checked_timing(driver_->store(), options))},
               driver_->random()),
      extras_(special(std::move(options))),
      validity_(driver_->pages().take()) {}

// Most candidates are plain.
std::unique_ptr<Engine::Extras> Engine::special(Options options) {
  std::string metadata = checked_metadata(std::move(options.metadata));
  const bool plain = metadata.empty() && !options.term_limit && !options.executor &&
                     options.overrun == Overrun::report;
  if (plain) return nullptr;
  auto extras = std::make_unique<Extras>();
  extras->metadata = std::move(metadata);
  extras->term_limit = options.term_limit;
  extras->executor = std::move(options.executor);
  extras->overrun = options.overrun;
  return extras;
}

Engine::~Engine() { driver_->pages().give_back(validity_); }

Engine::Extras& Engine::extras() {
  if (!extras_) extras_ = std::make_unique<Extras>();
  return *extras_;
}

void Engine::start() {
  if (in_forked_child()) return;
  {
    const std::scoped_lock lock(mutex());
    if (mode_ != Mode::idle) {
      throw InvalidState(stop_asked_
                             ? "start() was called while the candidate is stopping"
                             : "start() was called while the candidate runs: stop it first");
    }
    mode_ = Mode::started;
    begins_ = true;  // at once: a stop that comes now must not come before the start
    runs_ += 1;
    if (extras_) extras_->forgive();
  }
  speak();
  driver_->begin(shared_from_this());
}

void Engine::begin_run() {
  if (in_forked_child()) return;
  const std::scoped_lock lock(mutex());
  if (mode_ == Mode::started) {
    throw InvalidState("run() was called after start(): the candidate campaigns already");
  }
  if (extras().in_run) throw InvalidState("run() was called while another call of it runs");
  extras_->in_run = true;
  extras_->forgive();
}

void Engine::end_run() noexcept {
  if (in_forked_child()) return;
  const std::scoped_lock lock(mutex());
  extras_->in_run = false;
  extras_->forgive();
}

// Whoever it is that calls: the candidate's own user code is one, on whichever thread.
std::thread::id Engine::caller() const noexcept {
  const bool is_user_code = extras_ && extras_->strand && extras_->strand->is_user_code_here();
  return is_user_code ? std::thread::id{} : std::this_thread::get_id();
}

std::uint64_t Engine::wait_to_lead(Waiter waiter) {
  bool begins = false;
  std::uint64_t number = 0;
  {
    std::unique_lock lock(mutex());
    if (mode_ == Mode::started) {
      throw InvalidState(
          "lead() was called after start(): the candidate campaigns already; use leadership()");
    }
    if (extras().waiter) throw InvalidState("lead() was called while another call of it waits");
    const auto stopped_by = std::exchange(extras_->stopped_by, std::nullopt);
    const bool owed = std::exchange(extras_->stop_owed, false);
    extras_->led = false;
    if (stop_asked_ || owed || (stopped_by && stopped_by != caller())) {
      lock.unlock();
      waiter(std::nullopt);
      return 0;
    }
    begins = mode_ == Mode::idle;
    mode_ = Mode::leading;
    if (begins) begins_ = true;
    if (begins) runs_ += 1;
    extras_->waiter = std::move(waiter);
    number = ++extras_->waiter_number;
  }
  if (begins) speak();
  begins ? driver_->begin(shared_from_this()) : post<core::Tick>();
  return number;
}

void Engine::forget(std::uint64_t waiter) {
  if (in_forked_child()) return;
  Waiter forgotten;
  {
    const std::scoped_lock lock(mutex());
    if (!extras_ || extras_->waiter_number != waiter) return;
    forgotten = std::exchange(extras_->waiter, nullptr);
  }
  if (!forgotten) return;
  post<core::Tick>();  // nobody campaigns for nobody
  forgotten(std::nullopt);
}

void Engine::lead_no_more() {
  const std::scoped_lock lock(mutex());
  if (extras_) extras_->forgive();
}

void Engine::resign() {
  if (!in_forked_child()) post<core::ResignAsked>();
}

void Engine::healthy(bool is_healthy) noexcept {
  if (in_forked_child()) return;
  {
    const std::scoped_lock lock(mutex());
    if (is_healthy && !extras_) return;
    extras().unhealthy = !is_healthy;
  }
  post<core::Tick>();
}

void Engine::report(Error error) {
  if (in_forked_child()) return;
  Tidings tidings;
  {
    const std::scoped_lock lock(mutex());
    note(core::Failed{std::move(error)}, driver_->clock().now(), tidings);
  }
  tidings.tell(*this);
}

void Engine::log_to(LogSink sink) {
  keep(listen(shared_from_this(), [this, sink = std::move(sink)](const Event& event) {
    call(weak_from_this(), "the log", [&] {
      try {
        sink(to_log(event, election_, id()));
      } catch (...) {  // whom should one tell?
      }
    });
  }));
}

// The engine is not held meanwhile: what is called may be its end.
void Engine::call(const std::weak_ptr<Engine>& of, const std::string& name,
                  const std::function<void()>& user_code) {
  auto engine = of.lock();
  const Instant begun = engine ? engine->driver_->clock().now() : Instant{};
  engine.reset();
  const auto thrown = contain(name, user_code);
  engine = of.lock();
  if (!engine) return;
  if (engine->driver_->clock().now() - begun > engine->machine_.timing().grace) {
    const std::scoped_lock lock(engine->mutex());
    engine->extras().callback_overruns += 1;
  }
  if (thrown) engine->report(*thrown);
}

void Engine::keep(std::shared_ptr<EventQueue> queue) {
  if (in_forked_child()) return net::leave_alone(std::move(queue));
  const std::scoped_lock lock(mutex());
  extras().kept.push_back(std::move(queue));
}

void Engine::let_go(const EventQueue* queue) {
  std::shared_ptr<EventQueue> gone;
  const std::scoped_lock lock(mutex());
  auto& kept = extras().kept;
  const auto found = std::find_if(kept.begin(), kept.end(),
                                  [queue](const auto& each) { return each.get() == queue; });
  if (found == kept.end()) return;
  gone = std::move(*found);
  kept.erase(found);
}

void Engine::tell_silence(const std::weak_ptr<Keeper>& keeper) {
  if (in_forked_child()) return;
  const std::scoped_lock lock(mutex());
  auto& keepers = extras().keepers;
  std::erase_if(keepers, [](const auto& each) { return each.expired(); });
  keepers.push_back(keeper);
}

Role Engine::role() const {
  if (in_forked_child()) return Role::stopped;
  const std::scoped_lock lock(mutex());
  return mode_ != Mode::idle && !begun_ ? Role::bootstrap : machine_.role();
}

std::optional<Leadership> Engine::leadership() {
  if (in_forked_child()) return std::nullopt;
  const std::scoped_lock lock(mutex());
  if (mode_ != Mode::started || machine_.role() != Role::leader) return std::nullopt;
  const Term term = machine_.status().term;
  auto& work = extras().work;
  if (!work || work->term != term) work = Work{term, {}, 0};
  work->claims += 1;
  return Leadership(shared_from_this(), term, work->stop.get_token());
}

void Engine::end_with(std::optional<Leadership>& term, const std::stop_token& stop) {
  if (!term || !stop.stop_possible()) return;
  std::function<void()> ask = [weak = std::weak_ptr(term->engine_), of = term->term_] {
    const auto engine = weak.lock();
    if (!engine || engine->in_forked_child()) return;
    engine->driver_->post([engine, of] {
      if (engine->machine_.status().term == of) engine->feed(core::ResignAsked{});
    });
  };
  using HandOver = std::stop_callback<std::function<void()>>;
  term->hand_over_ = std::make_shared<HandOver>(stop, std::move(ask));
}

void Engine::work_ended(Term term) noexcept {
  if (in_forked_child()) return;
  {
    const std::scoped_lock lock(mutex());
    if (!extras_ || !extras_->work || extras_->work->term != term) return;
    extras_->work->claims -= 1;
    if (extras_->work->claims > 0) return;
  }
  post<core::Tick>();
}

std::shared_ptr<Strand> Engine::strand() {
  if (in_forked_child()) {  // nobody else is here, and the locks may be locked for ever
    auto& dead = extras().strand;
    if (!dead) dead = std::make_shared<Strand>(nullptr, nullptr);
    return dead;
  }
  const std::scoped_lock lock(mutex());
  auto& made = extras().strand;
  if (!made) {
    auto under = extras_->executor ? extras_->executor : driver_->pool();
    made = std::make_shared<Strand>(std::move(under), driver_->stopper());
    if (muted_) made->hold();
  }
  return made;
}

}  // namespace conclave::runtime
