// T17: what cannot work is refused at once, with a sentence that names it. R09: ids are unique.
#include <gtest/gtest.h>

#include <filesystem>

#include <algorithm>
#include <unordered_set>

#include <conclave/names.hpp>
#include <conclave/open.hpp>

#include "runtime/identity.hpp"
#include "runtime/support.hpp"

namespace conclave::rig {
namespace {

// The sentence of the refusal; empty when there is none.
template <typename Act>
std::string refusal(Act act) {
  try {
    act();
    return {};
  } catch (const std::invalid_argument& refused) {
    return refused.what();
  }
}

struct BadOption {
  const char* name;  // has to be in the sentence
  std::function<void(Options&)> spoil;
};

class BadOptionTest : public ::testing::TestWithParam<BadOption> {};

TEST_P(BadOptionTest, T17IsRefusedWithItsName) {
  World world;
  Options options;
  GetParam().spoil(options);
  const std::string sentence = refusal([&] { Candidate(world.store(), "reports", options); });
  EXPECT_NE(sentence.find(GetParam().name), std::string::npos) << sentence;
  EXPECT_EQ(std::count(sentence.begin(), sentence.end(), '\n'), 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadOptionTest,
    ::testing::Values(
        BadOption{"candidate id", [](Options& o) { o.id = std::string(256, 'x'); }},
        BadOption{"candidate id", [](Options& o) { o.id = std::string("a\0b", 3); }},
        BadOption{"candidate id", [](Options& o) { o.id = "\xff"; }},
        BadOption{"metadata", [](Options& o) { o.metadata = std::string(4097, 'x'); }},
        BadOption{"metadata", [](Options& o) { o.metadata = "\xc3"; }},
        BadOption{"renew_interval", [](Options& o) { o.renew_interval = 0s; }},
        BadOption{"renew_interval", [](Options& o) { o.renew_interval = -1s; }},
        BadOption{"renew_interval", [](Options& o) { o.renew_interval = 3s; }},
        BadOption{"renew_interval", [](Options& o) { o.renew_interval = Duration::max(); }},
        BadOption{"renew_interval", [](Options& o) { o.renew_interval = Duration::min(); }},
        BadOption{"request_timeout", [](Options& o) { o.request_timeout = 0s; }},
        BadOption{"request_timeout", [](Options& o) { o.request_timeout = 1h; }},
        BadOption{"grace", [](Options& o) { o.grace = 0s; }},
        BadOption{"grace", [](Options& o) { o.grace = 2400ms; }},
        BadOption{"request_timeout", [](Options& o) { o.request_timeout = 1s; }},  // the sum
        BadOption{"drain_limit", [](Options& o) { o.drain_limit = 0s; }},
        BadOption{"drain_limit", [](Options& o) { o.drain_limit = Duration::max(); }},
        BadOption{"cool_down", [](Options& o) { o.cool_down = -1ns; }},
        BadOption{"term_limit", [](Options& o) { o.term_limit = 0s; }},
        BadOption{"term_limit", [](Options& o) { o.term_limit = -1s; }},
        BadOption{"term_limit", [](Options& o) { o.term_limit = 600ms; }},  // the grace
        BadOption{"term_limit", [](Options& o) { o.term_limit = Duration::max(); }}));

TEST(BadInputTest, T17ACandidateNeedsAStoreAndAName) {
  World world;
  EXPECT_NE(refusal([&] { Candidate(nullptr, "reports"); }).find("store"), std::string::npos);
  for (const std::string& bad : {std::string(), std::string(256, 'x'), std::string("a\0", 2)}) {
    const std::string sentence = refusal([&] { Candidate(world.store(), bad); });
    EXPECT_NE(sentence.find("election name"), std::string::npos) << sentence;
  }
}

TEST(BadInputTest, ManyRefusalsCostNothing) {
  World world;
  auto store = world.store();
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_THROW(Candidate(store, "reports", {.metadata = "\xff"}), std::invalid_argument);
    EXPECT_THROW(Candidate(store, "reports", {.grace = 0s}), std::invalid_argument);
  }
  Candidate me(store, "reports");
  EXPECT_TRUE(me.lead());
}

TEST(BadInputTest, LongNamesAndAnyScriptAreWelcome) {
  World world;
  Candidate me(world.store(), std::string(255, 'x'), {.id = "wähler / 1 \U0001F451"});
  EXPECT_TRUE(me.lead());
  EXPECT_EQ(me.id(), "wähler / 1 \U0001F451");
  EXPECT_EQ(me.election().size(), 255U);
}

struct BadUrl {
  const char* url;
  const char* part;  // of the sentence
};

class BadUrlTest : public ::testing::TestWithParam<BadUrl> {};

TEST_P(BadUrlTest, T17IsRefusedWithItsPart) {
  const std::string sentence = refusal([] { (void)open(GetParam().url); });
  EXPECT_NE(sentence.find(GetParam().part), std::string::npos) << sentence;
  const auto same = try_open(GetParam().url);
  ASSERT_FALSE(same);
  EXPECT_EQ(same.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(same.error().message, sentence);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadUrlTest,
    ::testing::Values(BadUrl{"", "malformed"}, BadUrl{"memory", "malformed"},
                      BadUrl{"//host", "malformed"}, BadUrl{"nosuch:", "memory:"},
                      BadUrl{"nosuch://host/path", "nosuch"},
                      BadUrl{"memory:?colour=red", "colour"}, BadUrl{"memory:?lease=soon", "lease"},
                      BadUrl{"memory:?lease=-1s", "lease"}, BadUrl{"memory:?lease=0s", "lease"},
                      BadUrl{"memory:?lease=1ms", "lease"}, BadUrl{"memory:?lease=48h", "lease"},
                      BadUrl{"memory:?lease=3s&lease=4s", "lease"},
                      BadUrl{"memory:?lease", "lease"}, BadUrl{"memory:/path", "path"},
                      BadUrl{"memory://host", "host"}));

TEST(BadUrl, AnUnknownOptionIsRefusedBeforeAnythingIsDone) {
  const std::string folder = ::testing::TempDir() + "conclave-never-made";
  const auto refused = try_open("file:" + folder + "?colour=red");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("has no option colour: it knows force, lease"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(OpenTest, T17AnUnknownSchemeIsToldTheKnownOnes) {
  const auto refused = try_open("nosuch:");
  ASSERT_FALSE(refused);
  ASSERT_FALSE(schemes().empty());
  for (const std::string& known : schemes()) {
    EXPECT_NE(refused.error().message.find(known + ":"), std::string::npos)
        << refused.error().message;
  }
}

TEST(OpenTest, ASchemeMayBeWrittenInCapitals) {
  for (const char* const url :
       {"Memory:", "REDIS://127.0.0.1", "Postgres://127.0.0.1/x", "POSTGRESQL://127.0.0.1/x"}) {
    const auto store = try_open(url);
    EXPECT_TRUE(store) << store.error().message;
  }
  EXPECT_TRUE(schema_of("Postgres://127.0.0.1/x"));
  EXPECT_EQ(public_url("Redis://geheim@host"), "redis://***@host");
}

TEST(OpenTest, TheLeaseComesFromTheUrlOrTheOptionsAndTheOptionsWin) {
  EXPECT_EQ(open("memory:")->lease(), 3s);
  EXPECT_EQ(open("memory:?lease=5s")->lease(), 5s);
  EXPECT_EQ(open("memory:?lease=5s", {.lease = 7s})->lease(), 7s);
  EXPECT_FALSE(refusal([] { (void)open("memory:", {.lease = 0s}); }).empty());
  Candidate me(open("memory:?lease=250ms"), "reports");
  EXPECT_TRUE(me.lead());
}

TEST(IdentityTest, R09AHundredThousandIdsAreUnique) {
  std::unordered_set<std::string> ids;
  constexpr std::size_t count = 100'000;
  std::mutex mutex;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        std::vector<std::string> mine;
        for (std::size_t made = 0; made < count / 4; ++made) mine.push_back(runtime::make_id());
        const std::scoped_lock lock(mutex);
        for (std::string& id : mine) ids.insert(std::move(id));
      });
    }
  }
  EXPECT_EQ(ids.size(), count);
  for (const std::string& id : ids) ASSERT_FALSE(check_candidate_id(id)) << id;
}

TEST(IdentityTest, R09CandidatesHaveThemByDefault) {
  World world;
  auto store = world.store();
  const Candidate one(store, "reports");
  const Candidate two(store, "reports");
  EXPECT_NE(one.id(), two.id());
  EXPECT_GT(one.id().size(), 17U) << "a host and a random part";
}

}  // namespace
}  // namespace conclave::rig
