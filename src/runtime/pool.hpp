// Where user code runs unless the application brings its own executor: a few threads, made when
// they are needed and gone when they are not.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <conclave/executor.hpp>

namespace conclave::runtime {

// Makes a thread that runs this, and does not wait for it. Throws std::system_error when the
// process can have no more of them.
void make_thread(std::function<void()> body);

// How many threads a pool may have, and how it gets them.
struct Staff {
  std::size_t at_once = 32;           // so many are made as soon as a task waits
  std::size_t most = 32;              // so many more when they have all been busy for a while
  std::function<void(Task)> later{};  // runs it in a while, on somebody else's thread
  std::function<void(std::function<void()>)> thread = make_thread;
};

// Unlike the contract of an Executor says of order: tasks run side by side. A Strand puts them in
// line. A task for which no thread can be had waits until there is one. Destroying the pool waits
// for the tasks that are running, except for one that destroys it.
class Pool final : public Executor {
 public:
  explicit Pool(Staff staff = {});
  ~Pool() override;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void post(Task task) override;
  void post_at(Instant when, Task task) override;

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace conclave::runtime
