// What a machine says, as text that a person can read and a test can compare.
#pragma once

#include <map>
#include <string>

#include "core/machine.hpp"

namespace conclave::test {

// 2.4s, 375ms, 40us: exact to the microsecond.
[[nodiscard]] std::string text(Duration duration);
[[nodiscard]] std::string text(Instant at);

// The state with the form it has taken, such as "draining (overrun)".
[[nodiscard]] std::string text(const core::State& state);

// Attempts are random numbers; in a text they are A, B, C in the order of their appearance.
class Words {
 public:
  [[nodiscard]] std::string operator()(const core::Output& output);

 private:
  [[nodiscard]] std::string say(const core::DoCampaign& call);
  [[nodiscard]] std::string say(const core::DoRenew& call);
  [[nodiscard]] std::string say(const core::DoResign& call);
  [[nodiscard]] std::string say(const core::DoObserve& call);
  [[nodiscard]] std::string say(const core::DoCancel& call);
  [[nodiscard]] std::string say(const core::Elected& news);
  [[nodiscard]] std::string say(const core::Extended& news);
  [[nodiscard]] std::string say(const core::Jeopardy& news);
  [[nodiscard]] std::string say(const core::Stopping& news);
  [[nodiscard]] std::string say(const core::DrainOverrun& news);
  [[nodiscard]] std::string say(const core::Lost& news);
  [[nodiscard]] std::string say(const core::LeaderChanged& news);
  [[nodiscard]] std::string say(const core::Failed& news);
  [[nodiscard]] std::string say(const core::HasStopped& news);
  [[nodiscard]] std::string name(const Attempt& attempt);

  std::map<Attempt, std::string> attempts_;
};

}  // namespace conclave::test
