#include "runtime/support.hpp"

#include <algorithm>

namespace conclave::rig {

std::optional<Event> await(EventQueue& events, EventKind kind) {
  while (auto event = events.wait_for(hang_guard)) {
    if (event->kind == kind) return event;
  }
  return std::nullopt;
}

std::vector<Event> drain(EventQueue& events) {
  std::vector<Event> all;
  while (auto event = events.try_pop()) all.push_back(*std::move(event));
  return all;
}

std::string story(const std::vector<Event>& events) {
  std::string words;
  for (const Event& event : events) {
    if (event.kind == EventKind::extended) continue;
    (words += words.empty() ? "" : " ") += to_string(event.kind);
  }
  return words;
}

bool alternates(const std::vector<Event>& events) {
  Term present{};
  Term last{};
  for (const Event& event : events) {
    if (event.kind == EventKind::elected) {
      if (present.exists() || event.term <= last) return false;
      present = last = event.term;
    } else if (event.kind == EventKind::lost) {
      if (event.term != present) return false;
      present = {};
    }
  }
  return true;
}

void Signal::set() {
  const std::scoped_lock lock(mutex_);
  set_ = true;
  changed_.notify_all();
}

bool Signal::is_set() const {
  const std::scoped_lock lock(mutex_);
  return set_;
}

bool Signal::wait() const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, hang_guard, [this] { return set_; });
}

bool fires(const std::stop_token& token) {
  Signal fired;
  const std::stop_callback callback(token, [&] { fired.set(); });
  return fired.wait();
}

void Count::add() {
  const std::scoped_lock lock(mutex_);
  value_ += 1;
  changed_.notify_all();
}

int Count::value() const {
  const std::scoped_lock lock(mutex_);
  return value_;
}

bool Count::reach(int value) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, hang_guard, [&] { return value_ >= value; });
}

std::shared_ptr<Store> World::store(Duration lease) {
  auto loop = make_loop();
  const Clock& clock = clock_ != nullptr ? *clock_ : loop->clock();
  return keep_with_loop(
      loop, make_memory_store(space_, {.lease = lease, .clock = clock, .executor = *loop}));
}

std::shared_ptr<FaultyStore> World::faulty_store(Duration lease) {
  auto loop = make_loop();
  const Clock& clock = clock_ != nullptr ? *clock_ : loop->clock();
  auto faulty = std::make_shared<FaultyStore>(
      make_memory_store(space_, {.lease = lease, .clock = clock, .executor = *loop}));
  FaultyStore* const plain = faulty.get();
  return {keep_with_loop(loop, std::move(faulty)), plain};
}

std::shared_ptr<Store> telling(std::shared_ptr<Store> store, Signal& gone) {
  Store* const plain = store.get();
  return {plain, [inside = std::move(store), &gone](Store*) mutable {
            inside.reset();
            gone.set();
          }};
}

std::shared_ptr<FaultyStore> ManualWorld::store(Duration lease) {
  return std::make_shared<FaultyStore>(
      make_memory_store(space, {.lease = lease, .clock = clock, .executor = loop}));
}

void ManualWorld::settle() {
  while (loop.run_ready() + desk->run_ready() > 0) {
  }
}

void ManualWorld::pass(Duration time) {
  const Instant until = clock.now() + time;
  settle();
  for (auto due = next_due(); due && *due <= until; due = next_due()) {
    loop.run_until(*due);
    settle();
  }
  loop.run_until(until);
}

std::optional<Instant> ManualWorld::next_due() const {
  const auto here = loop.next_due();
  const auto there = desk->next_due();
  return here && there ? std::min(here, there) : std::max(here, there);
}

void ManualWorld::stop(Candidate& candidate) {
  candidate.request_stop();
  pass(5s);
}

void ThreadExecutor::post(Task task) {
  const std::scoped_lock lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_one();
}

void ThreadExecutor::post_at(Instant, Task task) { post(std::move(task)); }

int ThreadExecutor::ran() const {
  const std::scoped_lock lock(mutex_);
  return ran_;
}

void ThreadExecutor::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !tasks_.empty(); })) {
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    ran_ += 1;
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace conclave::rig
