// A machine under test: it remembers the calls that the machine has made, so that a test can answer
// them, and checks the invariants after every step.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "scenario/words.hpp"

namespace conclave {

// So that a failed comparison shows a time, not its bytes.
inline void PrintTo(Instant at, std::ostream* out) { *out << test::text(at); }

}  // namespace conclave

namespace conclave::test {

using namespace std::chrono_literals;

// Tests count from zero.
[[nodiscard]] constexpr Instant at(Duration since_zero) { return Instant{since_zero}; }

// A call of the machine to its store.
struct Call {
  core::OpId op{};
  Instant sent;
};

// Answers as a test needs them, with the lease of the default timing.
[[nodiscard]] Granted granted(std::uint64_t term, Instant since,
                              Vacancy vacancy = Vacancy::released);
[[nodiscard]] Record record(std::uint64_t term, std::uint64_t stamp = 1,
                            const std::string& leader = "other");
[[nodiscard]] Held held(std::uint64_t term, std::uint32_t place = 1);
[[nodiscard]] Error error(ErrorCode code = ErrorCode::timed_out);

class Rig {
 public:
  explicit Rig(const TimingOptions& options = {});

  // One step. What the machine says is kept in said() and returned joined by "; ".
  std::string step(Instant now, const core::Input& input);
  std::string tick(Instant now) { return step(now, core::Tick{}); }

  // Answers to the latest call of the verb.
  std::string campaign(Instant now, CampaignAnswer answer);
  std::string renew(Instant now, RenewAnswer answer);
  std::string resign(Instant now, Answer answer);
  std::string observe(Instant now, Observation what);

  // Ticks at every wake-up up to and including `end`, and gives all that was said.
  std::string run_until(Instant end);

  // Starts at zero and takes a released place at 1 ms: leads term 7 until 2.4 s.
  void become_leader();

  [[nodiscard]] const core::Machine& machine() const { return machine_; }
  [[nodiscard]] std::string state() const { return text(machine_.state()); }
  [[nodiscard]] const std::vector<std::string>& said() const { return said_; }
  [[nodiscard]] const core::Outputs& outputs() const { return outputs_; }
  [[nodiscard]] Call last_campaign() const { return campaign_; }
  [[nodiscard]] Call last_renew() const { return renew_; }
  [[nodiscard]] Call last_resign() const { return resign_; }
  [[nodiscard]] Instant wake() const;

 private:
  void remember(const core::Output& output, Instant now);

  core::Machine machine_;
  Words words_;
  std::vector<std::string> said_;
  core::Outputs outputs_;
  Call campaign_;
  Call renew_;
  Call resign_;
};

}  // namespace conclave::test
