// What the suite cannot bring about: a service that fails, hangs or is used by others between our
// read and our write, and values that somebody else wrote.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <stdexcept>
#include <vector>

#include <conclave/testing/manual_executor.hpp>

#include "cas_election.hpp"
#include "cas_store.hpp"

namespace own_store {
namespace {

using namespace conclave;
using conclave::testing::ManualClock;
using conclave::testing::ManualExecutor;

// A service in which something happens just after a read, or just after a write.
class RiggedCas final : public CasService {
 public:
  std::optional<CasValue> read(const std::string& key) override {
    auto value = inside.read(key);
    if (const auto act = std::exchange(after_read, {})) act();
    return value;
  }
  bool write_if(const std::string& key, std::optional<std::uint64_t> expected,
                const std::string& text) override {
    const bool written = inside.write_if(key, expected, text);
    if (const auto act = std::exchange(after_write, {})) act();
    return written;
  }

  MemoryCas inside;
  std::function<void()> after_read;
  std::function<void()> after_write;
};

[[noreturn]] void fail() { throw std::runtime_error("connection reset by peer"); }

class CasStoreTest : public ::testing::Test {
 protected:
  CampaignAnswer campaign(const Bid& bid) {
    std::optional<CampaignAnswer> answer;
    store_->campaign(bid, [&](CampaignAnswer given) { answer = std::move(given); });
    EXPECT_TRUE(run_until([&] { return answer.has_value(); }));
    return answer.value_or(Unknown{});
  }
  // The service is called by a thread of its own, so both executors are run.
  bool run_until(const std::function<bool()>& done) {
    for (int i = 0; i < 10 && !done(); ++i) {
      requests_->run_ready();
      executor_->run_ready();
    }
    return done();
  }
  static Bid bid(const std::string& candidate, std::uint64_t attempt) {
    return {"election", candidate, Attempt{7, attempt}, "info", {}, {}};
  }
  void write(const std::string& text) {
    ASSERT_TRUE(service_->inside.write_if("conclave/election", std::nullopt, text));
  }

  ManualClock clock_;
  std::shared_ptr<ManualExecutor> executor_ = std::make_shared<ManualExecutor>(clock_);
  std::shared_ptr<ManualExecutor> requests_ = std::make_shared<ManualExecutor>(clock_);
  std::shared_ptr<RiggedCas> service_ = std::make_shared<RiggedCas>();
  std::shared_ptr<Store> store_ =
      make_cas_store(service_, {.clock = clock_, .executor = executor_, .requests = requests_});
};

TEST_F(CasStoreTest, WhoeverWritesSecondFindsThePlaceTaken) {
  service_->after_read = [this] {
    CasElection election;
    static_cast<void>(election.campaign(bid("quicker", 2), store_->lease(), clock_.now()));
    write(to_text(election));
  };
  const CampaignAnswer answer = campaign(bid("a", 1));
  ASSERT_TRUE(std::holds_alternative<Held>(answer));
  EXPECT_EQ(std::get<Held>(answer).record->leader, "quicker");
}

TEST_F(CasStoreTest, ALostReplyIsUnknownAndTheRepetitionFindsTheSameTerm) {
  service_->after_write = fail;
  const CampaignAnswer first = campaign(bid("a", 1));
  ASSERT_TRUE(std::holds_alternative<Unknown>(first));
  EXPECT_TRUE(std::get<Unknown>(first).error.in_doubt);
  const CampaignAnswer again = campaign(bid("a", 1));
  ASSERT_TRUE(std::holds_alternative<Granted>(again));
  EXPECT_EQ(std::get<Granted>(again).term, Term{1});
}

TEST_F(CasStoreTest, AServiceThatCannotBeReachedIsUnknownWithItsReason) {
  service_->after_read = fail;
  const CampaignAnswer answer = campaign(bid("a", 1));
  ASSERT_TRUE(std::holds_alternative<Unknown>(answer));
  EXPECT_NE(std::get<Unknown>(answer).error.message.find("reset by peer"), std::string::npos);
}

// What the holder counts from has to lie before what the others may see.
TEST_F(CasStoreTest, SinceIsBeforeTheWrite) {
  const Instant before = clock_.now();
  service_->after_read = [this] { clock_.advance(std::chrono::seconds{1}); };
  const CampaignAnswer answer = campaign(bid("a", 1));
  ASSERT_TRUE(std::holds_alternative<Granted>(answer));
  EXPECT_EQ(std::get<Granted>(answer).since, before);
}

TEST_F(CasStoreTest, AServiceThatHangsDoesNotHangTheCaller) {
  int answers = 0;
  const Operation operation = store_->campaign(bid("a", 1), [&](const CampaignAnswer& answer) {
    answers += 1;
    EXPECT_TRUE(std::holds_alternative<Unknown>(answer));
  });
  executor_->run_ready();
  EXPECT_EQ(answers, 0);
  store_->cancel(operation);
  EXPECT_EQ(answers, 0) << "never inside a call";
  executor_->run_ready();
  EXPECT_EQ(answers, 1);
  EXPECT_TRUE(run_until([&] { return service_->inside.read("conclave/election").has_value(); }));
  executor_->run_ready();
  EXPECT_EQ(answers, 1) << "the true answer came too late";
}

TEST_F(CasStoreTest, WhatANewerVersionWroteIsRefusedWithASentence) {
  write("2 and whatever else it will be");
  const CampaignAnswer answer = campaign(bid("a", 1));
  ASSERT_TRUE(std::holds_alternative<Refused>(answer));
  EXPECT_EQ(std::get<Refused>(answer).error.code, ErrorCode::unsupported);
  EXPECT_NE(std::get<Refused>(answer).error.message.find("update"), std::string::npos);
}

TEST_F(CasStoreTest, WhatIsNoElectionIsRefusedAndLeftAlone) {
  write("somebody else's shopping list");
  const CampaignAnswer answer = campaign(bid("a", 1));
  ASSERT_TRUE(std::holds_alternative<Refused>(answer));
  EXPECT_EQ(std::get<Refused>(answer).error.code, ErrorCode::corrupt);
  EXPECT_EQ(service_->inside.read("conclave/election")->text, "somebody else's shopping list");
}

TEST_F(CasStoreTest, ObserversAreToldOnceAndKnowTheLastTermWhenTheServiceForgetsIt) {
  campaign(bid("a", 1));
  std::vector<Observation> heard;
  store_->observe("election", "a", [&](const Observation& what) { heard.push_back(what); });
  const auto look_for_a_while = [&] {
    for (int i = 0; i < 10; ++i) {
      clock_.advance(store_->lease() / 4);
      static_cast<void>(run_until([] { return false; }));
    }
  };
  look_for_a_while();
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_EQ(std::get<Record>(heard.back()).term, Term{1});
  service_->inside.wipe();
  look_for_a_while();
  ASSERT_EQ(heard.size(), 2U);
  EXPECT_EQ(std::get<Vacant>(heard.back()).term, Term{1});
}

TEST(CasElectionTest, NoTermIsAboveTheGreatestNumber) {
  CasElection election;
  Bid bid{"election", "a", {7, 1}, {}, {}, {}};
  bid.highest_term_seen = Term{std::numeric_limits<std::uint64_t>::max()};
  EXPECT_TRUE(std::holds_alternative<Refused>(election.campaign(bid, {}, {})));
  EXPECT_EQ(election, CasElection{});
}

TEST(CasElectionTest, EveryTextThatIsCutShortIsRefused) {
  CasElection election;
  static_cast<void>(election.campaign({"election", "a\nb", {7, 1}, "1 2\n3", {}, {}},
                                      std::chrono::seconds{3}, Instant{}));
  const std::string text = to_text(election);
  const auto whole = from_text(text);
  ASSERT_TRUE(whole);
  EXPECT_EQ(*whole, election);
  // The metadata is what is left, and may have any length.
  for (std::size_t size = 0; size < text.size() - election.metadata.size(); ++size) {
    EXPECT_FALSE(from_text(text.substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace own_store
