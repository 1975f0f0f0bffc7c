#include "runtime/driver.hpp"

#include <cassert>
#include <limits>

#include "runtime/engine.hpp"
#include "runtime/identity.hpp"

namespace conclave::runtime {
namespace {

// Renewals that are due within a twentieth of the lease travel together.
core::RenewalGrid draw_grid(Duration lease) {
  const Duration step = lease / 20;
  const auto span = static_cast<std::uint64_t>(std::max(step.count(), std::int64_t{1}));
  return {step, Duration{static_cast<std::int64_t>(random_words()[0] % span)}};
}

bool same(const Timing& a, const Timing& b) {
  return a.lease == b.lease && a.renew_interval == b.renew_interval &&
         a.request_timeout == b.request_timeout && a.grace == b.grace &&
         a.drain_limit == b.drain_limit && a.cool_down == b.cool_down && a.notes == b.notes;
}

// What many thousands need at once is not held in memory all at once.
constexpr std::size_t largest_batch = 1024;

// So many begin in one turn, while so many first bids are not answered yet: ten thousand at once
// would take memory that is never needed again, and could not be given back.
constexpr std::size_t at_once = 256;
constexpr std::size_t most_first_bids = 512;

// So many travel together at most, if they began together; the next ones at other instants, so that
// neither we nor the store have ten thousand renewals in hand at once and then none.
constexpr std::size_t largest_party = 300;

// How long tasks wait before it is looked into why nobody takes them.
constexpr Duration a_while = std::chrono::milliseconds{10};

Error given_up() {
  return {ErrorCode::timed_out, "the store did not answer a renewal within the request time-out",
          true, true};
}

}  // namespace

std::shared_ptr<Driver> Driver::of(const std::shared_ptr<Store>& store) {
  const std::scoped_lock lock(store->driver_mutex_);
  auto driver = store->driver_.lock();
  if (!driver) {
    driver = std::make_shared<Driver>(store);
    store->driver_ = driver;
  }
  return driver;
}

Driver::Driver(std::shared_ptr<Store> store)
    : store_(std::move(store)),
      clock_(store_->clock()),
      random_(std::make_shared<core::Random>(random_words())),
      grid_(draw_grid(store_->lease())) {}

Driver::~Driver() = default;

std::shared_ptr<const core::Pace> Driver::share(Timing timing) {
  const std::scoped_lock lock(mutex_);
  if (party_ == largest_party) {
    grid_ = draw_grid(store_->lease());
    pace_.reset();
    party_ = 0;
  }
  party_ += 1;
  if (!pace_ || !same(pace_->timing, timing)) {
    pace_ = std::make_shared<const core::Pace>(core::Pace{std::move(timing), grid_});
  }
  return pace_;
}

std::shared_ptr<Executor> Driver::pool() {
  const std::scoped_lock lock(mutex_);
  if (!pool_) pool_ = make_pool({});
  return pool_;
}

// One thread will do for all tokens, unless a callback of one blocks it: then there are more, as
// many as it takes.
std::shared_ptr<Executor> Driver::stopper() {
  const std::scoped_lock lock(mutex_);
  if (!stopper_) {
    stopper_ = make_pool({.at_once = 1, .most = std::numeric_limits<std::size_t>::max()});
  }
  return stopper_;
}

std::shared_ptr<Executor> Driver::make_pool(Staff staff) {
  staff.later = [weak = weak_from_this()](Task task) {
    const auto driver = weak.lock();
    if (!driver) return;
    driver->store_->executor().post_at(driver->clock_.now() + a_while, std::move(task));
  };
  return std::make_shared<Pool>(std::move(staff));
}

std::size_t Driver::stripe_of(const Engine& engine) const noexcept {
  return std::hash<const Engine*>{}(&engine) / alignof(std::max_align_t) % stripes;
}
std::mutex& Driver::mutex_of(const Engine& engine) noexcept { return mutexes_[stripe_of(engine)]; }
std::condition_variable& Driver::changed_of(const Engine& engine) noexcept {
  return changed_[stripe_of(engine)];
}

// ---------------------------------------------------------------- beginnings

void Driver::begin(std::shared_ptr<Engine> engine) {
  {
    const std::scoped_lock lock(mutex_);
    beginners_.push_back(std::move(engine));
    if (beginners_.size() > 1) return;  // somebody is on his way
  }
  post([self = shared_from_this()] { self->begin_some(); });
}

// Some, then what they have brought about, then the next ones.
void Driver::begin_some() {
  if (first_bids_ > most_first_bids - at_once) {
    held_back_ = true;
    return;
  }
  std::vector<std::shared_ptr<Engine>> some;
  bool more = false;
  {
    const std::scoped_lock lock(mutex_);
    const auto count = static_cast<std::ptrdiff_t>(std::min(at_once, beginners_.size()));
    some.assign(beginners_.begin(), beginners_.begin() + count);
    beginners_.erase(beginners_.begin(), beginners_.begin() + count);
    more = !beginners_.empty();
  }
  {
    const Round round(*this);
    for (const auto& engine : some) engine->begin();
  }
  if (more) post([self = shared_from_this()] { self->begin_some(); });
}

void Driver::first_bid_answered() {
  first_bids_ -= 1;
  if (!held_back_ || first_bids_ > most_first_bids - at_once) return;
  held_back_ = false;
  post([self = shared_from_this()] { self->begin_some(); });
}

// ---------------------------------------------------------------- renewals

std::shared_ptr<Batch> Driver::renew(std::shared_ptr<Engine> engine, core::OpId op, Renewal renewal,
                                     std::uint32_t& index) {
  if (!due_) due_ = std::make_shared<Batch>();
  index = static_cast<std::uint32_t>(due_->members.size());
  due_->members.push_back({std::move(engine), op});
  due_->renewals.push_back(std::move(renewal));
  due_->open += 1;
  std::shared_ptr<Batch> batch = due_;
  if (due_->open == largest_batch) send_renewals();
  return batch;
}

// What was given up before it was sent is not sent.
void Driver::drop_given_up(Batch& batch) {
  std::uint32_t kept = 0;
  for (std::size_t i = 0; i < batch.members.size(); ++i) {
    if (!batch.members[i].engine) continue;
    batch.members[i].engine->renewal_index_ = kept;
    if (kept != i) {
      batch.members[kept] = std::move(batch.members[i]);
      batch.renewals[kept] = std::move(batch.renewals[i]);
    }
    kept += 1;
  }
  batch.members.resize(kept);
  batch.renewals.resize(kept);
}

void Driver::send_renewals() {
  const std::shared_ptr<Batch> batch = std::exchange(due_, nullptr);
  if (batch->open < batch->members.size()) drop_given_up(*batch);
  if (batch->open == 0) return;
  batch->operation = store_->renew(std::exchange(batch->renewals, {}),
                                   [batch](std::size_t index, RenewAnswer answer) {
                                     Batch::Member& member = batch->members.at(index);
                                     const auto engine = std::exchange(member.engine, nullptr);
                                     if (!engine) return;
                                     batch->open -= 1;
                                     engine->renewal_answered(member.op, std::move(answer));
                                   });
}

// The one who gives up is told so at once; the call goes on for the others.
void Driver::give_up(Batch& batch, std::size_t index) {
  Batch::Member& member = batch.members.at(index);
  auto engine = std::exchange(member.engine, nullptr);
  if (!engine) return;
  batch.open -= 1;
  if (batch.open == 0 && batch.operation != 0) store_->cancel(batch.operation);
  post([engine = std::move(engine), op = member.op] {
    engine->renewal_answered(op, Unknown{given_up()});
  });
}

void Driver::end_round() {
  if (due_) send_renewals();
  arm();
}

// ---------------------------------------------------------------- wake-ups

void Driver::arm() {
  if (heap_.empty()) return;
  const Instant next = heap_.front()->wake_at_;
  if (armed_ && *armed_ <= next) return;
  armed_ = next;
  store_->executor().post_at(next, [weak = weak_from_this()] {
    if (const auto driver = weak.lock()) driver->on_timer();
  });
}

void Driver::on_timer() {
  const Round round(*this);
  const Instant now = clock_.now();
  if (armed_ && *armed_ <= now) armed_.reset();
  // A few at a time: what they bring about comes before the next ones, and those who want to be
  // woken again at once do not starve the others.
  for (std::size_t left = largest_batch; left > 0 && !heap_.empty(); --left) {
    if (heap_.front()->wake_at_ > now) break;
    heap_.front()->tick(now);
  }
}

void Driver::wake_at(Engine& engine, std::optional<Instant> when) {
  const bool listed = engine.heap_index_ != Engine::not_listed;
  if (!when) {
    if (!listed) return;
    const std::size_t hole = engine.heap_index_;
    engine.heap_index_ = Engine::not_listed;
    Engine* const last = heap_.back();
    heap_.pop_back();
    if (last == &engine) return;
    put(hole, last);
    sift_up(hole);
    sift_down(last->heap_index_);
    return;
  }
  engine.wake_at_ = *when;
  if (!listed) {
    heap_.push_back(nullptr);
    put(heap_.size() - 1, &engine);
  }
  sift_up(engine.heap_index_);
  sift_down(engine.heap_index_);
}

void Driver::put(std::size_t index, Engine* engine) {
  heap_[index] = engine;
  engine->heap_index_ = static_cast<std::uint32_t>(index);
}

void Driver::sift_up(std::size_t index) {
  Engine* const engine = heap_[index];
  while (index > 0) {
    const std::size_t parent = (index - 1) / 2;
    if (heap_[parent]->wake_at_ <= engine->wake_at_) break;
    put(index, heap_[parent]);
    index = parent;
  }
  put(index, engine);
}

void Driver::sift_down(std::size_t index) {
  Engine* const engine = heap_[index];
  while (true) {
    std::size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->wake_at_ < heap_[child]->wake_at_) ++child;
    if (engine->wake_at_ <= heap_[child]->wake_at_) break;
    put(index, heap_[child]);
    index = child;
  }
  put(index, engine);
}

}  // namespace conclave::runtime
