// The test classes, and a few words to ask a store and to start candidates on it.
#pragma once

#include <gtest/gtest.h>

#include <conclave/testing/faulty_store.hpp>

#include "conformance/test_candidate.hpp"

namespace conclave::conformance {

using testing::Fault;
using testing::FaultyStore;
using testing::Odds;
using testing::Verb;

class Conformance : public ::testing::TestWithParam<MakeFixture> {
 protected:
  void TearDown() override;

  [[nodiscard]] StoreFixture& fixture() { return *fixture_; }
  [[nodiscard]] Duration lease() const { return fixture_->lease(); }
  [[nodiscard]] bool has(Ability ability) const { return fixture_->has(ability); }
  [[nodiscard]] Instant now() const { return fixture_->now(); }
  [[nodiscard]] bool run_until(const std::function<bool()>& done) {
    return fixture_->run_until(done);
  }
  void run_for(Duration duration) { fixture_->run_for(duration); }
  [[nodiscard]] std::shared_ptr<Store> connect() { return fixture_->make_store(); }

  // ---- verbs: ask on the executor, wait for the answer

  void on(Store& store, const std::function<void()>& what);
  CampaignAnswer campaign(Store& store, const Bid& bid);
  Granted granted(Store& store, const Bid& bid);  // fails the test when it is not
  Held held(Store& store, const Bid& bid);
  RenewAnswer renew(Store& store, const Renewal& renewal);
  // All in one call.
  std::vector<RenewAnswer> renew_all(Store& store, const std::vector<Renewal>& due);
  Answer resign(Store& store, const Resignation& resignation);
  Inspection inspect(Store& store, const std::string& election = "election");
  Answer end(Store& store, const std::string& election = "election");
  Answer remove(Store& store, const std::string& election = "election",
                Remains remains = Remains::trace);

  // A bid of that candidate; one number is one attempt.
  [[nodiscard]] static Bid bid(const std::string& candidate, std::uint64_t attempt);
  [[nodiscard]] static Renewal renewal(const Bid& bid, Term term);
  [[nodiscard]] static Resignation resignation(const Bid& bid, std::optional<Term> term,
                                               bool was_valid);

  // ---- candidates, each on a connection of its own that can be disturbed

  struct Member {
    std::shared_ptr<FaultyStore> faults;
    std::unique_ptr<TestCandidate> candidate;
    TestCandidate* operator->() const { return candidate.get(); }
  };

  // Not started yet.
  Member make(const std::string& id, CandidateOptions options = {});
  Member make_on(const std::shared_ptr<FaultyStore>& store, const std::string& id,
                 CandidateOptions options = {});
  // Started, and waited for until it stands in line or leads, so that the order is known.
  Member join(const std::string& id, CandidateOptions options = {});

  // What it said went wrong last, for the words of a test that fails.
  [[nodiscard]] static std::string trouble_of(const Member& member);

  [[nodiscard]] bool until_leads(const Member& member);
  [[nodiscard]] bool until_stopped(const Member& member);
  // Whoever leads is stopped, until all are.
  void stop_one_leader_after_the_other(const std::vector<Member>& members);
  [[nodiscard]] std::vector<std::string> leaders() const { return history_.leaders("election"); }
  // What cannot be in what the candidates said so far.
  [[nodiscard]] std::optional<std::string> contradiction() const {
    return history_.contradiction(now());
  }

 private:
  template <typename Answered, typename Call>
  Answered answer(Store& store, Call call);

  // The connections and candidates of a test go before it.
  std::unique_ptr<StoreFixture> fixture_ = GetParam()();
  History history_;
  std::uint64_t next_seed_ = 1;
};

class Contract : public Conformance {};   // the verbs
class Scenario : public Conformance {};   // candidates and their hand-overs
class Disturbed : public Conformance {};  // the same under faults

}  // namespace conclave::conformance

// Runs the whole suite on a store. `name` is a plain word, `make` a function that makes a fixture.
#define CONCLAVE_CONFORMANCE(name, make)                                          \
  INSTANTIATE_TEST_SUITE_P(name, Contract, ::testing::Values(MakeFixture{make}),  \
                           [](const auto&) { return #name; });                    \
  INSTANTIATE_TEST_SUITE_P(name, Scenario, ::testing::Values(MakeFixture{make}),  \
                           [](const auto&) { return #name; });                    \
  INSTANTIATE_TEST_SUITE_P(name, Disturbed, ::testing::Values(MakeFixture{make}), \
                           [](const auto&) { return #name; })
