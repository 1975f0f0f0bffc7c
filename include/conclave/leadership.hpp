// One term of leadership, as an object: while it lives the work of the term is going on.
#pragma once

#include <memory>
#include <stop_token>

#include <conclave/export.hpp>
#include <conclave/term.hpp>
#include <conclave/time.hpp>

namespace conclave {

namespace runtime {
class Engine;
}

// Movable, not copyable. From lead(): while it lives the term is renewed, and when it dies the term
// is released, so that the next candidate leads within milliseconds. From leadership(): a voluntary
// hand-over waits until it has died, the term itself goes on.
//
// It may die on any thread, and also after its term is over. It must not outlive its term's work.
class CONCLAVE_API Leadership {
 public:
  Leadership(Leadership&& other) noexcept;
  Leadership& operator=(Leadership&& other) noexcept;
  ~Leadership();

  // The fencing token: hand it to the resource that you protect.
  [[nodiscard]] Term term() const noexcept { return term_; }

  // Whether this term is valid now. Wait-free; false at once in a process that was paused too long.
  [[nodiscard]] bool valid() const noexcept;

  // Whether it will be valid for that long, even if no further renewal succeeds.
  [[nodiscard]] bool covers(Duration work) const noexcept;

  // Fires when the work should come to its end: the lease is running out, or a hand-over was asked
  // for. Begin nothing new. It fires on a thread of the store object's own, never on the executor
  // in the options: that may be busy with the very work that should end. Callbacks registered with
  // it run there, beside those of the candidate. One that blocks does not keep other tokens from
  // firing; stop() waits for it.
  [[nodiscard]] const std::stop_token& stopping() const noexcept { return stopping_; }

 private:
  friend class runtime::Engine;
  Leadership(std::shared_ptr<runtime::Engine> engine, Term term, std::stop_token stopping) noexcept
      : engine_(std::move(engine)), term_(term), stopping_(std::move(stopping)) {}

  std::shared_ptr<runtime::Engine> engine_;
  Term term_;
  std::stop_token stopping_;
  std::shared_ptr<void> hand_over_;  // when the token of lead() fires
};

}  // namespace conclave
