// The order of the calls for each election, and the thread that waits for the disk in their stead.
//
// Most calls read or write a few kilobytes that the kernel has in memory; they are carried out at
// once. The first grant in an hour waits for the disk, and so do ends and removals: for that a busy
// machine may take seconds and a broken one for ever. So it happens on a thread of its own:
// renewals go on meanwhile, and only later calls for the same election wait.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "net/asio_loop.hpp"

namespace conclave::file {

// Used on the loop.
class Turns {
 public:
  explicit Turns(std::shared_ptr<net::AsioLoop> loop) : loop_(std::move(loop)) {}
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Runs the task when nothing of that election is at the disk: now, or in its turn.
  void run(const std::string& election, Task task);

  // From a task of that election: does the work at the disk, then hands its result to `then` on the
  // loop. Not when this object is gone by then; the result is destroyed in any case.
  template <typename Work, typename Then>
  void at_disk(const std::string& election, Work work, Then then) {
    waiting_.try_emplace(election);
    disk().post([this, loop = loop_, over = std::weak_ptr(alive_), election, work, then] {
      auto result = std::make_shared<decltype(work())>(work());
      loop->post([this, over, election, then, result = std::move(result)] {
        if (over.expired()) return;
        then(std::move(*result));
        go_on(election);
      });
    });
  }

 private:
  Executor& disk();
  void go_on(const std::string& election);

  std::shared_ptr<net::AsioLoop> loop_;
  std::shared_ptr<net::AsioLoop> disk_;
  std::map<std::string, std::deque<Task>> waiting_;  // an entry: something is at the disk
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace conclave::file
