// The thread on which the application's own client waits for its replies.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "net/asio_loop.hpp"
#include "stores/redis/commands.hpp"

namespace conclave::redis {

class Worker {
 public:
  using Done = Commands::Done;

  // A command whose turn has not come within `patience` is not executed any more.
  Worker(std::shared_ptr<net::AsioLoop> loop, RedisExecute execute, Duration patience);
  // Waits for the client's present command: nothing of the application's is used afterwards.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Executes it, after those before it. `done` is called on the loop.
  void send(Command command, Done done);
  // The commands that wait are forgotten.
  void end();

 private:
  struct Job {
    Command command;
    Done done;
    Instant asked;
  };

  void work();
  [[nodiscard]] Result<Delivered> execute(const Job& job) const;

  const std::shared_ptr<net::AsioLoop> loop_;
  const RedisExecute execute_;
  const Duration patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace conclave::redis
