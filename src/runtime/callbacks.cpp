#include <conclave/callbacks.hpp>

#include <atomic>
#include <mutex>
#include <vector>

#include "runtime/engine.hpp"
#include "runtime/listener.hpp"

namespace conclave {

using runtime::Engine;

// The lists and the Leadership are used under the lock; what is being told, on the strand only.
struct Callbacks::State final : runtime::Keeper, std::enable_shared_from_this<State> {
  template <typename... Arguments>
  using List = std::vector<std::function<void(Arguments...)>>;

  explicit State(const std::shared_ptr<Engine>& of) : engine(of), strand(of->strand()) {}

  // Calls each, however many are added meanwhile. The copies keep what a callback removes alive.
  template <typename... Arguments, typename... Given>
  void call(const char* name, const List<Arguments...>& list, const Given&... given) {
    List<Arguments...> copies;
    {
      const std::scoped_lock lock(mutex);
      if (over) return;
      copies = list;
    }
    for (const auto& each : copies) call_one(name, each, given...);
  }

  template <typename Function, typename... Given>
  void call_one(const char* name, const Function& function, const Given&... given) {
    const std::scoped_lock running(calling);
    if (is_over()) return;
    const LetGoWhenSilent when_it_has_returned{*this};
    Engine::call(engine, thrown_by(name), [&] { function(given...); });
  }

  static std::string thrown_by(const char* name) { return std::string("the callback for ") + name; }

  // Nobody is told of the end of the term any more: it is over when the one that runs returns.
  void fall_silent() override {
    silent = true;
    const std::unique_lock nobody_runs(calling, std::try_to_lock);
    if (nobody_runs) let_go();
  }

  struct LetGoWhenSilent {
    ~LetGoWhenSilent() {
      if (state.silent) state.let_go();
    }
    State& state;
  };

  bool is_over() {
    const std::scoped_lock lock(mutex);
    return over;
  }

  void hear(const Event& event) {
    switch (event.kind) {
      case EventKind::started: leader = {}; return;
      case EventKind::elected: return begin_term(event.term);
      case EventKind::stopping:
        if (told != event.term) return;
        call("stopping", stopping, event.term, event.reason.value_or(LossReason::resigned));
        return let_go();  // the work has ended
      case EventKind::lost:
        let_go();
        if (std::exchange(told, Term{}) != event.term) return;
        return call("lost", lost, event.term, event.reason.value_or(LossReason::resigned));
      case EventKind::follower: follows = true; return call("follower", follower);
      case EventKind::leader_changed:
        leader = {event.leader, event.term};
        return call("leader changed", leader_changed, event.leader, event.term);
      case EventKind::error:
        // What they throw themselves is not told to them: that would never end.
        if (event.error && !event.error->message.starts_with(thrown_by("error"))) {
          call("error", error, *event.error);
        }
        return;
      case EventKind::stopped: follows = false; return call("stopped", stopped);
      default: return;
    }
  }

  // A term that is over, or that is asked to end, before its turn came is not told at all.
  void begin_term(Term term) {
    follows = false;
    const auto alive = engine.lock();
    auto claimed = alive ? alive->leadership() : std::nullopt;
    if (!claimed || claimed->term() != term) return;
    told = term;
    silent = false;
    const auto held = std::make_shared<const Leadership>(*std::move(claimed));
    {
      const std::scoped_lock lock(mutex);
      if (over) return;
      leadership = held;
    }
    call("elected", elected, *held);
  }

  void let_go() {
    std::shared_ptr<const Leadership> gone;  // after the lock
    const std::scoped_lock lock(mutex);
    gone.swap(leadership);
  }

  std::shared_ptr<const Leadership> held_leadership() {
    const std::scoped_lock lock(mutex);
    return leadership;
  }

  // Adds one, and tells it what is true already; on the strand, in line with the events.
  template <typename List, typename Function, typename Catch>
  void add(List& list, Function function, Catch catch_up) {
    strand->post([self = shared_from_this(), &list, function = std::move(function), catch_up] {
      catch_up(*self, function);
      const std::scoped_lock lock(self->mutex);
      list.push_back(function);
    });
  }

  const std::weak_ptr<Engine> engine;
  const std::shared_ptr<runtime::Strand> strand;
  std::shared_ptr<EventQueue> queue;
  std::mutex mutex;
  std::recursive_mutex calling;  // a callback runs
  std::atomic<bool> silent{false};
  bool over = false;
  List<const Leadership&> elected;
  List<Term, LossReason> stopping;
  List<Term, LossReason> lost;
  List<> follower;
  List<const std::string&, Term> leader_changed;
  List<const Error&> error;
  List<> stopped;
  std::shared_ptr<const Leadership> leadership;  // of the term that was told; until its work ends

  Term told{};
  bool follows = false;
  std::pair<std::string, Term> leader;
};

namespace {

constexpr auto nothing_to_catch_up = [](auto&, const auto&) {};

}  // namespace

Callbacks::Callbacks(Candidate& candidate) : state_(std::make_shared<State>(candidate.engine_)) {
  state_->queue =
      runtime::listen(candidate.engine_, [weak = std::weak_ptr(state_)](const Event& e) {
        if (const auto state = weak.lock()) state->hear(e);
      });
  candidate.engine_->tell_silence(state_);
}

Callbacks::~Callbacks() {
  if (state_->strand->in_forked_child()) {
    net::leave_alone(std::move(state_));
    return;
  }
  {
    const std::scoped_lock lock(state_->mutex);
    state_->over = true;
  }
  if (!state_->strand->runs_here()) {
    const std::scoped_lock until_it_has_returned(state_->calling);
  }
  state_->let_go();
}

Callbacks& Callbacks::on_elected(std::function<void(const Leadership&)> call) {
  state_->add(state_->elected, std::move(call), [](State& state, const auto& late) {
    if (const auto held = state.held_leadership()) state.call_one("elected", late, *held);
  });
  return *this;
}

Callbacks& Callbacks::on_stopping(std::function<void(Term, LossReason)> call) {
  state_->add(state_->stopping, std::move(call), nothing_to_catch_up);
  return *this;
}

Callbacks& Callbacks::on_lost(std::function<void(Term, LossReason)> call) {
  state_->add(state_->lost, std::move(call), nothing_to_catch_up);
  return *this;
}

Callbacks& Callbacks::on_follower(std::function<void()> call) {
  state_->add(state_->follower, std::move(call), [](State& state, const auto& late) {
    if (state.follows) state.call_one("follower", late);
  });
  return *this;
}

Callbacks& Callbacks::on_leader_changed(std::function<void(const std::string&, Term)> call) {
  state_->add(state_->leader_changed, std::move(call), [](State& state, const auto& late) {
    const auto [leader, term] = state.leader;
    if (!leader.empty()) state.call_one("leader changed", late, leader, term);
  });
  return *this;
}

Callbacks& Callbacks::on_error(std::function<void(const Error&)> call) {
  state_->add(state_->error, std::move(call), nothing_to_catch_up);
  return *this;
}

Callbacks& Callbacks::on_stopped(std::function<void()> call) {
  state_->add(state_->stopped, std::move(call), nothing_to_catch_up);
  return *this;
}

}  // namespace conclave
