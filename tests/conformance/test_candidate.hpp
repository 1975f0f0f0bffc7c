// A whole candidate for tests: the machine of src/core on any store, without the runtime.
//
// It carries out what the machine asks for, feeds it the answers, and remembers what it said.
// Everything happens on the store's executor; the questions may be asked from any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <conclave/timing.hpp>

#include "conformance/history.hpp"
#include "conformance/store_fixture.hpp"
#include "core/machine.hpp"

namespace conclave::conformance {

struct CandidateOptions {
  std::string metadata;
  TimingOptions timing;   // the lease is the store's
  bool work_ends = true;  // at once when it is told to stop; otherwise by end_work()
  std::uint64_t seed = 0;
};

class TestCandidate {
 public:
  TestCandidate(StoreFixture& fixture, History& history, std::shared_ptr<Store> store,
                std::string election, std::string id, CandidateOptions options);

  // The process dies: nothing is resigned, nothing is heard any more.
  ~TestCandidate();

  void start() { give(core::Start{}); }
  void stop() { give(core::Stop{}); }
  void resign() { give(core::ResignAsked{}); }
  void reach_term_limit(Term armed_for) { give(core::TermLimitDue{armed_for}); }
  void end_work() { give(core::WorkEnded{last<core::Stopping>().value().term}); }

  // As SIGSTOP and SIGCONT: the candidate does nothing, but its clock goes on.
  void stall();
  void go_on();

  [[nodiscard]] bool leads() const;  // as is_leader(): asks the clock
  [[nodiscard]] Role role() const { return status().role; }
  [[nodiscard]] Term term() const { return status().term; }
  [[nodiscard]] Instant deadline() const { return status().deadline; }
  [[nodiscard]] std::uint32_t place() const { return status().place; }
  [[nodiscard]] std::string leader() const;
  [[nodiscard]] const std::string& id() const;

  // How often it said that.
  template <typename News>
  [[nodiscard]] std::size_t count() const {
    return count(core::Output{News{}}.index());
  }

  // What it said of that kind last.
  template <typename News>
  [[nodiscard]] std::optional<News> last() const {
    const auto said = last(core::Output{News{}}.index());
    return said ? std::optional(std::get<News>(*said)) : std::nullopt;
  }

 private:
  void give(core::Input input);
  [[nodiscard]] core::Status status() const;  // its views are for nobody outside
  [[nodiscard]] std::size_t count(std::size_t kind) const;
  [[nodiscard]] std::optional<core::Output> last(std::size_t kind) const;

  class Engine;
  std::shared_ptr<Engine> engine_;
};

}  // namespace conclave::conformance
