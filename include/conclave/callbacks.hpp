// Callbacks over a candidate that was start()ed: the adapter for event-driven programs.
//
//   Callbacks callbacks(me);
//   callbacks.on_elected([](const Leadership& term) { scheduler.resume(term.term()); })
//       .on_stopping([](Term, LossReason) { scheduler.pause_and_wait(); })
//       .on_lost([](Term, LossReason reason) { log(to_string(reason)); });
//   me.start();
//
// Any number of each, added at any time and from any thread; one that comes late is told the
// present state. They run one after another on the candidate's executor, never on its engine: a
// slow one delays its successors, not a renewal. Elected and lost strictly alternate; a term that
// is over before its turn comes is skipped with both. What a callback throws is reported as an
// error event.
//
// A voluntary hand-over waits for the callbacks of `elected` and `stopping` to return: there the
// work should come to its end. After `lost` it is too late for that.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <conclave/candidate.hpp>
#include <conclave/export.hpp>

namespace conclave {

class CONCLAVE_API Callbacks {
 public:
  // The candidate may go before it, also within a callback.
  explicit Callbacks(Candidate& candidate);

  // Waits for a callback that is running, unless that is who destroys it. None begins afterwards.
  ~Callbacks();
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

  Callbacks& on_elected(std::function<void(const Leadership&)> call);
  Callbacks& on_stopping(std::function<void(Term, LossReason)> call);
  Callbacks& on_lost(std::function<void(Term, LossReason)> call);
  Callbacks& on_follower(std::function<void()> call);
  Callbacks& on_leader_changed(std::function<void(const std::string& leader, Term)> call);
  Callbacks& on_error(std::function<void(const Error&)> call);
  Callbacks& on_stopped(std::function<void()> call);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace conclave
