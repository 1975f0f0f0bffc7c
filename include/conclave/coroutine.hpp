// lead() for coroutines.
//
//   while (auto term = co_await next_term(me, stop)) co_await write_reports(*term);
//
// The coroutine goes on where the candidate's callbacks run (Candidate::executor()), as a task of
// its own: bring your own executor in the options to have it elsewhere.
#pragma once

#include <coroutine>
#include <optional>
#include <stop_token>
#include <utility>

#include <conclave/candidate.hpp>

namespace conclave {

class NextTerm {
 public:
  NextTerm(Candidate& candidate, std::stop_token stop)
      : candidate_(candidate), stop_(std::move(stop)) {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    candidate_.lead(stop_, [this, waiting](std::optional<Leadership> term) {
      term_ = std::move(term);
      waiting.resume();
    });
  }
  [[nodiscard]] std::optional<Leadership> await_resume() noexcept { return std::move(term_); }

 private:
  Candidate& candidate_;
  std::stop_token stop_;
  std::optional<Leadership> term_;
};

// What lead() would return, once it would. Throws InvalidState as it does.
[[nodiscard]] inline NextTerm next_term(Candidate& candidate, std::stop_token stop = {}) {
  return {candidate, std::move(stop)};
}

}  // namespace conclave
