#include "stores/redis/worker.hpp"

#include <pthread.h>

#include <exception>
#include <utility>

#include "net/signals_blocked.hpp"

namespace conclave::redis {

Worker::Worker(std::shared_ptr<net::AsioLoop> loop, RedisExecute execute, Duration patience)
    : loop_(std::move(loop)), execute_(std::move(execute)), patience_(patience) {
  const net::SignalsBlocked while_it_starts;
  thread_ = std::thread([this] { work(); });
  ::pthread_setname_np(thread_.native_handle(), "conclave-redis");
}

Worker::~Worker() {
  end();
  thread_.join();
}

void Worker::end() {
  std::deque<Job> forgotten;
  const std::scoped_lock lock(mutex_);
  over_ = true;
  forgotten.swap(jobs_);
  changed_.notify_one();
}

void Worker::send(Command command, Done done) {
  const std::scoped_lock lock(mutex_);
  if (over_) return;
  jobs_.push_back({std::move(command), std::move(done), loop_->clock().now()});
  changed_.notify_one();
}

void Worker::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return over_ || !jobs_.empty(); });
    if (over_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    auto answer = execute(job);
    loop_->post([done = std::move(job.done), answer = std::move(answer)]() mutable {
      done(std::move(answer));
    });
    lock.lock();
  }
}

Result<Delivered> Worker::execute(const Job& job) const {
  const Instant sent = loop_->clock().now();
  // Whoever asked has given up: a client that hung must not work through all that meanwhile came.
  if (sent - job.asked > patience_) {
    return Error{ErrorCode::unavailable,
                 "the application's Redis client was busy with other commands for longer than a "
                 "request may take",
                 true, false};
  }
  std::string failed = "for a reason that it does not tell";
  try {
    RedisReply reply = execute_(job.command);
    return Delivered{std::move(reply), sent, loop_->clock().now()};
  } catch (const std::exception& error) {
    failed = error.what();
  } catch (...) {  // whatever it throws, it is the application's
  }
  return Error{ErrorCode::unavailable, "the application's Redis client failed: " + failed, true,
               true};
}

}  // namespace conclave::redis
