#include <conclave/observer.hpp>

#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include <conclave/names.hpp>

#include "net/fork.hpp"
#include "runtime/patience.hpp"

namespace conclave {

// Everything but the reading happens on the store's executor.
class Observer::Watch : public std::enable_shared_from_this<Watch> {
 public:
  Watch(std::shared_ptr<Store> store, std::string election)
      : store_(std::move(store)), election_(std::move(election)) {}

  void begin() {
    on_loop([](Watch& watch) {
      watch.observation_ = watch.store_->observe(
          watch.election_, "", [weak = watch.weak_from_this()](const Observation& what) {
            if (const auto alive = weak.lock()) alive->heard(what);
          });
      watch.look();
    });
  }

  void end() {
    {
      const std::scoped_lock lock(mutex_);
      over_ = true;
    }
    // The task holds the store until the observation is over.
    store_->executor().post([self = shared_from_this()] {
      if (self->observation_ != 0) self->store_->cancel(std::exchange(self->observation_, 0));
      if (self->inspection_ != 0) self->store_->cancel(std::exchange(self->inspection_, 0));
    });
  }

  [[nodiscard]] std::optional<Leader> leader() const {
    const std::scoped_lock lock(mutex_);
    return with_age();
  }
  [[nodiscard]] bool is_known() const {
    const std::scoped_lock lock(mutex_);
    return known_;
  }
  [[nodiscard]] std::optional<Leader> wait_for_leader(Duration limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, runtime::after(limit), [this] { return leader_.has_value(); });
    return with_age();
  }
  [[nodiscard]] EventQueue& events() { return events_; }
  [[nodiscard]] bool in_forked_child() const noexcept { return fork_.in_child(); }

 private:
  template <typename Act>
  void on_loop(Act act) {
    store_->executor().post([weak = weak_from_this(), act] {
      if (const auto alive = weak.lock()) act(*alive);
    });
  }

  [[nodiscard]] std::optional<Leader> with_age() const {
    auto leader = leader_;
    if (leader) leader->age = store_->clock().now() - seen_;
    return leader;
  }

  void heard(const Observation& what) {
    if (const auto* record = std::get_if<Record>(&what)) return saw(*record);
    if (std::holds_alternative<Vacant>(what)) return saw_nobody();
    if (std::holds_alternative<Ended>(what)) saw_end();
  }

  // A lease that merely runs out is not told: who wants to know has to look.
  void look() {
    // One that has not been answered since the last look is given up; its answer is an error.
    if (inspection_ != 0) store_->cancel(std::exchange(inspection_, 0));
    const std::uint64_t number = ++looks_;
    inspection_ =
        store_->inspect(election_, [weak = weak_from_this(), number](const InspectAnswer& answer) {
          const auto alive = weak.lock();
          if (!alive) return;
          if (number == alive->looks_) alive->inspection_ = 0;
          alive->answered(answer);
        });
    store_->executor().post_at(store_->clock().now() + store_->lease() / 2,
                               [weak = weak_from_this()] {
                                 if (const auto alive = weak.lock()) alive->look_again();
                               });
  }

  void look_again() {
    {
      const std::scoped_lock lock(mutex_);
      if (over_) return;
    }
    look();
  }

  void answered(const InspectAnswer& answer) {
    {
      const std::scoped_lock lock(mutex_);
      if (over_) return;
    }
    if (const auto* inspection = std::get_if<Inspection>(&answer)) {
      if (inspection->ended) return saw_end();
      return inspection->leader ? saw(*inspection->leader) : saw_nobody();
    }
    const auto* refused = std::get_if<Refused>(&answer);
    const Error error = refused != nullptr ? refused->error : std::get<Unknown>(answer).error;
    events_.push({.kind = EventKind::error, .at = store_->clock().now(), .error = error});
  }

  void saw(const Record& record) {
    ended_ = false;  // removed, and begun anew
    set(Leader{record.leader, record.metadata, record.term, {}});
  }
  void saw_nobody() { set(std::nullopt); }

  // Told by the store, or found by looking, whichever comes first.
  void saw_end() {
    saw_nobody();
    if (std::exchange(ended_, true)) return;
    events_.push({.kind = EventKind::stopped, .at = store_->clock().now()});
  }

  void set(std::optional<Leader> leader) {
    const Instant now = store_->clock().now();
    Event event{.kind = EventKind::leader_changed, .at = now};
    {
      const std::scoped_lock lock(mutex_);
      if (leader && leader_ && leader->term < leader_->term) return;  // older than what is known
      const Term before = leader_ ? leader_->term : Term{};
      const bool changed = !known_ || before != (leader ? leader->term : Term{});
      known_ = true;
      seen_ = now;
      leader_ = std::move(leader);
      changed_.notify_all();
      if (!changed) return;
      if (leader_) event.leader = leader_->id;
      event.term = leader_ ? leader_->term : before;
    }
    events_.push(std::move(event));
  }

  const std::shared_ptr<Store> store_;
  const std::string election_;
  net::ForkMark fork_;
  Operation observation_ = 0;
  Operation inspection_ = 0;
  std::uint64_t looks_ = 0;
  bool ended_ = false;
  EventQueue events_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Leader> leader_;
  Instant seen_;
  bool known_ = false;
  bool over_ = false;
};

Observer::Observer(std::shared_ptr<Store> store, std::string election) {
  if (!store) throw std::invalid_argument("an observer needs a store: open one first");
  if (const auto error = check_election_name(election)) throw std::invalid_argument(error->message);
  watch_ = std::make_shared<Watch>(std::move(store), std::move(election));
  watch_->begin();
}

Observer::~Observer() {
  if (watch_->in_forked_child()) {
    net::leave_alone(std::move(watch_));
  } else {
    watch_->end();
  }
}

std::optional<Leader> Observer::leader() const {
  return watch_->in_forked_child() ? std::nullopt : watch_->leader();
}
bool Observer::is_known() const { return !watch_->in_forked_child() && watch_->is_known(); }
std::optional<Leader> Observer::wait_for_leader(Duration limit) {
  return watch_->in_forked_child() ? std::nullopt : watch_->wait_for_leader(limit);
}
EventQueue& Observer::events() { return watch_->events(); }

}  // namespace conclave
