#include <conclave/checks.hpp>

#include <condition_variable>
#include <mutex>

#include "runtime/contain.hpp"
#include "runtime/patience.hpp"

namespace conclave {
namespace {

// Wakes the loop of checks: a role has changed, or it should end.
class Bell {
 public:
  void ring() {
    const std::scoped_lock lock(mutex_);
    rung_ = true;
    changed_.notify_one();
  }
  void wait_for(Duration limit) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, limit, [this] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rung_ = false;
};

std::optional<Error> call(const Check& check, const char* name) {
  if (!check) return std::nullopt;
  std::optional<Error> error;
  if (auto thrown = runtime::contain(name, [&] { error = check(); })) return thrown;
  return error;
}

// One check of the present role. Nothing to do while the role is not known.
std::optional<Error> check_once(const Candidate& candidate, const Checks& checks) {
  if (candidate.is_leader()) return call(checks.on_leader_check, "the leader's check");
  if (candidate.role() != Role::follower) return std::nullopt;
  return call(checks.on_follower_check, "the follower's check");
}

// Whether one of them changes the role or ends the candidate.
bool take_news(EventQueue& events, bool& stopped) {
  bool news = false;
  while (const auto event = events.try_pop()) {
    stopped |= event->kind == EventKind::stopped;
    news |= event->kind == EventKind::elected || event->kind == EventKind::lost ||
            event->kind == EventKind::follower;
  }
  return news;
}

}  // namespace

std::optional<Error> run_checks(Candidate& candidate, const std::stop_token& stop,
                                const Checks& checks) {
  for (const auto& [name, interval] : {std::pair{"leader_interval", checks.leader_interval},
                                       std::pair{"follower_interval", checks.follower_interval}}) {
    if (interval <= Duration::zero()) {
      throw std::invalid_argument(std::string(name) + " has to be longer than nothing");
    }
  }
  auto bell = std::make_shared<Bell>();
  const auto events = candidate.subscribe();
  candidate.start();
  events->on_ready([bell] { bell->ring(); });
  const std::stop_callback ring_on_stop(stop, [bell] { bell->ring(); });
  std::optional<Error> error;
  bool stopped = candidate.role() == Role::stopped;  // in a forked child nothing starts
  auto next = std::chrono::steady_clock::now();
  while (!stop.stop_requested() && !stopped) {
    const bool changed = take_news(*events, stopped);
    if (stopped) break;
    if (changed || std::chrono::steady_clock::now() >= next) {
      error = check_once(candidate, checks);
      if (error && checks.end_on_error) break;
      if (error) candidate.report(*std::exchange(error, std::nullopt));
      next =
          runtime::after(candidate.is_leader() ? checks.leader_interval : checks.follower_interval);
    }
    bell->wait_for(next - std::chrono::steady_clock::now());
  }
  candidate.stop();
  return error;
}

}  // namespace conclave
