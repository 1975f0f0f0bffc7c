// What a full queue drops, as a table: before -> after.
#include "runtime/coalesce.hpp"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace conclave::runtime {
namespace {

// "elected1": a kind and a term; "error:text"; "leader:name".
Event parse(const std::string& word) {
  if (word.starts_with("error:")) {
    return {.kind = EventKind::error, .error = Error{ErrorCode::unavailable, word, true, false}};
  }
  if (word.starts_with("leader:")) {
    return {.kind = EventKind::leader_changed, .term = Term{9}, .leader = word.substr(7)};
  }
  const auto digits = word.find_first_of("0123456789");
  static const std::map<std::string, EventKind> kinds = {
      {"started", EventKind::started},   {"follower", EventKind::follower},
      {"elected", EventKind::elected},   {"extended", EventKind::extended},
      {"jeopardy", EventKind::jeopardy}, {"stopping", EventKind::stopping},
      {"lost", EventKind::lost},         {"stopped", EventKind::stopped}};
  Event event{.kind = kinds.at(word.substr(0, digits))};
  if (digits != std::string::npos) event.term = Term{std::stoull(word.substr(digits))};
  return event;
}

std::string print(const Event& event) {
  if (event.kind == EventKind::error) return event.error->message;
  if (event.kind == EventKind::leader_changed) return "leader:" + event.leader;
  return std::string(to_string(event.kind)) +
         (event.term.exists() ? std::to_string(event.term.value) : "");
}

std::string coalesced(const std::string& before) {
  std::istringstream words(before);
  std::vector<Event> events;
  for (std::string word; words >> word;) events.push_back(parse(word));
  const std::size_t count = events.size();
  const std::size_t dropped = coalesce(events);
  EXPECT_EQ(events.size() + dropped, count) << before;
  std::string after;
  for (const Event& event : events) after += (after.empty() ? "" : " ") + print(event);
  return after;
}

struct Row {
  const char* before;
  const char* after;
};

class CoalesceTest : public ::testing::TestWithParam<Row> {};

TEST_P(CoalesceTest, KeepsWhatALateReaderNeeds) {
  EXPECT_EQ(coalesced(GetParam().before), GetParam().after);
}

INSTANTIATE_TEST_SUITE_P(
    Table, CoalesceTest,
    ::testing::Values(
        Row{"", ""}, Row{"started elected1", "started elected1"},
        // the newest of what repeats
        Row{"started elected1 extended1 jeopardy1 extended1",
            "started elected1 jeopardy1 extended1"},
        Row{"elected1 jeopardy1 extended1 jeopardy1", "elected1 extended1 jeopardy1"},
        Row{"follower leader:a leader: leader:b follower", "leader:b follower"},
        Row{"stopped started stopped started", "stopped started"},
        // errors that a person would not need to hear of twice
        Row{"error:x error:y error:x", "error:y error:x"},
        // terms that have begun and ended go as a whole, who led in them is kept
        Row{"elected1 extended1 stopping1 lost1", ""},
        Row{"elected1 leader:a lost1 leader: elected2", "leader: elected2"},
        Row{"elected1 lost1 elected2 lost2 elected3 stopping3", "elected3 stopping3"},
        Row{"elected1 lost1 elected2 jeopardy2 lost2 follower", "follower"},
        // the end of one whose beginning was read stays
        Row{"extended1 stopping1 lost1 elected2 lost2 elected3", "extended1 lost1 elected3"},
        Row{"stopping1 lost1 stopped started elected2 lost2 stopped", "lost1 started stopped"},
        Row{"lost1", "lost1"}, Row{"stopping1", "stopping1"},
        // one that is on is not touched
        Row{"elected1 extended1 jeopardy1 stopping1", "elected1 extended1 jeopardy1 stopping1"}));

TEST(CoalesceErrorsTest, ThoseThatAreAllDifferentGoOldestFirst) {
  std::string before = "started";
  for (int i = 0; i < 40; ++i) before += " error:" + std::to_string(i);
  before += " elected1";
  std::string after = "started";
  for (int i = 26; i < 40; ++i) after += " error:" + std::to_string(i);
  EXPECT_EQ(coalesced(before), after + " elected1");
}

// Whatever the order, elected and lost alternate before and after, and the state at the end is the
// same.
TEST(CoalesceErrorsTest, AlternationSurvivesEveryPrefixThatWasRead) {
  const std::vector<std::string> life = {
      "started",   "elected1", "extended1", "stopping1", "lost1",    "follower",  "elected2",
      "jeopardy2", "lost2",    "stopped",   "started",   "elected3", "extended3", "stopping3"};
  for (std::size_t read = 0; read < life.size(); ++read) {
    std::vector<Event> events;
    for (std::size_t i = read; i < life.size(); ++i) events.push_back(parse(life[i]));
    coalesce(events);
    Term present{};
    for (std::size_t i = 0; i < read; ++i) {
      if (life[i].starts_with("elected")) present = parse(life[i]).term;
      if (life[i].starts_with("lost")) present = {};
    }
    for (const Event& event : events) {
      if (event.kind == EventKind::elected) {
        EXPECT_FALSE(present.exists()) << "after " << read;
        present = event.term;
      } else if (event.kind == EventKind::lost) {
        EXPECT_EQ(present, event.term) << "after " << read;
        present = {};
      }
    }
    EXPECT_EQ(present, Term{3}) << "after " << read;
  }
}

}  // namespace
}  // namespace conclave::runtime
