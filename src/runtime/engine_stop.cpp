// How a candidate is stopped, from any thread, and who is called meanwhile.
#include <algorithm>

#include "runtime/engine.hpp"
#include "runtime/patience.hpp"

namespace conclave::runtime {
namespace {

// How long stop() waits for a store that does not answer, when nobody says otherwise.
constexpr Duration store_patience = std::chrono::seconds{2};

}  // namespace

void Engine::request_stop() noexcept {
  if (!in_forked_child()) ask_to_stop();
}

std::uint32_t Engine::ask_to_stop() noexcept {
  Waiter forgotten;
  std::uint32_t run = 0;
  {
    const std::scoped_lock lock(mutex());
    run = runs_;
    if (extras_ && !extras_->waiter) {
      const bool works = mode_ == Mode::leading && extras_->work && extras_->work->claims > 0;
      if (works || extras_->in_run) extras_->stop_owed = true;
      // Who is about to ask for the next term does not know of a stop by somebody else.
      if (mode_ == Mode::leading && extras_->led) extras_->stopped_by = caller();
    }
    if (mode_ == Mode::idle || std::exchange(stop_asked_, true)) return run;
    if (extras_) forgotten = std::exchange(extras_->waiter, nullptr);
  }
  post<core::Stop>();
  if (forgotten) forgotten(std::nullopt);
  return run;
}

bool Engine::stop(std::optional<Duration> limit) {
  if (in_forked_child()) return true;
  std::shared_ptr<Strand> user_code;
  bool idle = false;
  {
    const std::scoped_lock lock(mutex());
    if (extras_) user_code = extras_->strand;
    idle = mode_ == Mode::idle;
  }
  const std::uint32_t run = ask_to_stop();
  if (user_code && user_code->is_user_code_here()) return idle;
  {
    const std::scoped_lock lock(mutex());
    stops_ += 1;
  }
  speak();
  const bool stopped = wait_for_end(run, limit);
  end_stop(run, stopped);
  return stopped;
}

bool Engine::wait_for_end(std::uint32_t run, std::optional<Duration> limit) {
  const auto longest =
      after(limit.value_or(machine_.timing().drain_limit + machine_.timing().request_timeout));
  std::shared_ptr<Strand> user_code;
  {
    std::unique_lock lock(mutex());
    auto until = longest;
    bool work_is_over = false;
    while (over_ < run) {
      if (!limit && !work_is_over && machine_.role() == Role::stopped) {
        work_is_over = true;
        until = std::min(longest, std::chrono::steady_clock::now() + store_patience);
      }
      if (driver_->changed_of(*this).wait_until(lock, until) == std::cv_status::timeout) break;
    }
    if (over_ < run) return false;
    if (extras_) user_code = extras_->strand;
  }
  return !user_code || user_code->wait_idle(longest);
}

// When the last stop() has given up, nobody is called from then on. What happens is still written
// to the queues, so that the story goes on where it broke off when the candidate is started or
// stopped anew. What is said here and what the strand does change together, or a start that comes
// between would be followed by a hold.
void Engine::end_stop(std::uint32_t run, bool stopped) {
  std::vector<std::weak_ptr<Keeper>> keepers;
  {
    const std::scoped_lock lock(mutex());
    stops_ -= 1;
    if (stopped || stops_ > 0) return;
    if (runs_ != run) return;  // somebody has started it anew
    muted_ = true;
    if (!extras_) return;
    if (extras_->strand) extras_->strand->hold();
    keepers = extras_->keepers;
  }
  for (const auto& each : keepers) {
    if (const auto keeper = each.lock()) keeper->fall_silent();
  }
}

void Engine::speak() {
  std::shared_ptr<Strand> goes_on;
  std::vector<std::shared_ptr<EventQueue>> queues;
  {
    const std::scoped_lock lock(mutex());
    if (!std::exchange(muted_, false) || !extras_) return;
    if (extras_->strand && extras_->strand->release()) goes_on = extras_->strand;
    for (const auto& each : extras_->queues) {
      if (auto queue = each.lock()) queues.push_back(std::move(queue));
    }
  }
  if (goes_on) goes_on->go_on();
  for (const auto& queue : queues) queue->notify();
}

void Engine::abandon() noexcept {
  std::shared_ptr<Strand> user_code;
  {
    const std::scoped_lock lock(mutex());
    if (muted_ && extras_) user_code = extras_->strand;
  }
  if (user_code) user_code->close();
}

}  // namespace conclave::runtime
