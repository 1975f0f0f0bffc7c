#include "runtime/strand.hpp"

#include <utility>

namespace conclave::runtime {
namespace {

thread_local const Strand* in_line_here = nullptr;
thread_local const Strand* user_code_here = nullptr;

// Marks this thread as one that runs user code of a strand.
class Mark {
 public:
  Mark(const Strand* strand, bool in_line)
      : line_(std::exchange(in_line_here, in_line ? strand : nullptr)),
        user_code_(std::exchange(user_code_here, strand)) {}
  ~Mark() {
    in_line_here = line_;
    user_code_here = user_code_;
  }
  Mark(const Mark&) = delete;
  Mark& operator=(const Mark&) = delete;

 private:
  const Strand* line_;
  const Strand* user_code_;
};

}  // namespace

void Strand::post(Task task) {
  if (fork_.in_child()) return net::leave_alone(std::move(task));
  {
    const std::scoped_lock lock(mutex_);
    if (closed_) return;
    tasks_.push_back(std::move(task));
    if (held_ || std::exchange(running_, true)) return;
  }
  go_on();
}

void Strand::post_at(Instant when, Task task) {
  if (fork_.in_child() || !under_) return net::leave_alone(std::move(task));
  under_->post_at(when, [self = shared_from_this(), task = std::move(task)]() mutable {
    self->post(std::move(task));
  });
}

void Strand::post_beside(Task task) {
  if (fork_.in_child() || !aside_) return net::leave_alone(std::move(task));
  {
    const std::scoped_lock lock(mutex_);
    beside_ += 1;
  }
  aside_->post([self = shared_from_this(), task = std::move(task)] { self->run_beside(task); });
}

void Strand::run_beside(const Task& task) {
  {
    const Mark mark(this, false);
    task();
  }
  const std::scoped_lock lock(mutex_);
  beside_ -= 1;
  idle_.notify_all();
}

// One task, then the next in line comes to the executor anew, behind what others have put there.
void Strand::run() {
  Task task;
  {
    const std::scoped_lock lock(mutex_);
    if (!held_ && !tasks_.empty()) {
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
  }
  if (task) {
    const Mark mark(this, true);
    task();
    task = {};
  }
  {
    const std::scoped_lock lock(mutex_);
    if (held_ || tasks_.empty()) {
      running_ = false;
      idle_.notify_all();
      return;
    }
  }
  go_on();
}

bool Strand::runs_here() const noexcept { return in_line_here == this; }

bool Strand::is_user_code_here() const noexcept { return user_code_here == this; }

bool Strand::wait_idle(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  return idle_.wait_until(lock, until,
                          [this] { return !running_ && tasks_.empty() && beside_ == 0; });
}

void Strand::hold() {
  const std::scoped_lock lock(mutex_);
  held_ = true;
}

bool Strand::release() {
  const std::scoped_lock lock(mutex_);
  held_ = false;
  return !tasks_.empty() && !std::exchange(running_, true);
}

void Strand::go_on() {
  under_->post([self = shared_from_this()] { self->run(); });
}

bool Strand::is_held() const {
  const std::scoped_lock lock(mutex_);
  return held_;
}

void Strand::close() {
  std::deque<Task> dropped;  // after the lock
  const std::scoped_lock lock(mutex_);
  closed_ = true;
  dropped.swap(tasks_);
}

}  // namespace conclave::runtime
