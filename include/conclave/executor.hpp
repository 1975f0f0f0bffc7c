// Where a store's calls are made and answered: one place at a time, in order. And where the user
// code of a candidate runs, when one is given in its options; there it may have several threads,
// and only the callbacks of stop tokens run elsewhere (see leadership.hpp).
#pragma once

#include <functional>

#include <conclave/export.hpp>
#include <conclave/time.hpp>

namespace conclave {

using Task = std::function<void()>;

// Runs tasks one after another, never inside the call that hands them over. May be handed tasks
// from any thread. A task must not throw.
class CONCLAVE_API Executor {
 public:
  virtual ~Executor() = default;

  // Runs the task soon, after those handed over before it.
  virtual void post(Task task) = 0;

  // Runs the task once the clock has reached `when`.
  virtual void post_at(Instant when, Task task) = 0;
};

}  // namespace conclave
