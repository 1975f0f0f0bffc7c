// Where user code runs unless the application brings its own executor: a few threads, made when
// they are needed and gone when they are not.
#pragma once

#include <memory>

#include <conclave/executor.hpp>

namespace conclave::runtime {

// Unlike the contract of an Executor says of order: tasks run side by side. A Strand puts them in
// line. Destroying it waits for the tasks that are running, except for one that destroys it.
class Pool final : public Executor {
 public:
  Pool();
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
