// A loop: one thread that runs tasks in order, and the machine's clock.
//
// Every store object has one, for any number of candidates; open() makes it by itself. Make one by
// hand for a store of your own, or for several memory stores on one space:
//
//   auto loop = make_loop();
//   auto store = make_memory_store(space, {.clock = loop->clock(), .executor = *loop});
#pragma once

#include <functional>
#include <memory>

#include <conclave/executor.hpp>
#include <conclave/export.hpp>
#include <conclave/store.hpp>

namespace conclave {

// Its thread blocks all signals but those of its own faults: they are the application's. Destroying
// it ends the thread; tasks that have not run by then are dropped. In a child after fork() it does
// nothing.
class CONCLAVE_API Loop : public Executor {
 public:
  // CLOCK_BOOTTIME: goes on while the machine is suspended, and never jumps.
  [[nodiscard]] virtual const Clock& clock() const noexcept = 0;

  // Whether the caller runs on this loop's thread.
  [[nodiscard]] virtual bool runs_here() const noexcept = 0;

  // Whether the caller is a child after a fork() of the process that made it.
  [[nodiscard]] virtual bool in_forked_child() const noexcept = 0;
};

[[nodiscard]] CONCLAVE_API std::shared_ptr<Loop> make_loop();

// A store together with the loop that it runs on. When the last pointer to it goes, on whichever
// thread, the store is destroyed on the loop, which then ends.
[[nodiscard]] CONCLAVE_API std::shared_ptr<Store> keep_with_loop(std::shared_ptr<Loop> loop,
                                                                 std::shared_ptr<Store> store);

}  // namespace conclave
