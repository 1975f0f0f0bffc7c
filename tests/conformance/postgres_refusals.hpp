// What only a person can mend: one sentence that names the fix, of every verb and in the events.
#pragma once

#include <gtest/gtest.h>

#include <conclave/admin.hpp>
#include <conclave/candidate.hpp>
#include <conclave/postgres.hpp>

#include "servers/postgres_server.hpp"

namespace conclave::conformance {

inline constexpr Duration hang_guard = std::chrono::seconds{60};

inline PostgresOptions options_of(const std::string& url,
                                  PostgresMode mode = PostgresMode::advisory) {
  PostgresOptions options;
  options.url = url;
  options.mode = mode;
  options.lease = std::chrono::seconds{4};  // so that a busy machine is no slow one
  return options;
}

inline std::string at(const servers::PostgresServer& server, const std::string& who,
                      const std::string& database) {
  return "postgres://" + who + "@127.0.0.1:" + std::to_string(server.port()) + "/" + database;
}

struct Refusal {
  ErrorCode code;
  std::string says;
  std::string fix;
};

// A server that is slow for once is another matter.
inline bool is_another_matter(const Error& error, const Refusal& wanted) {
  return error.code == ErrorCode::timed_out && wanted.code != ErrorCode::timed_out;
}

inline void expect_sentence(const Error& error, const Refusal& wanted) {
  const std::string& text = error.message;
  EXPECT_EQ(error.code, wanted.code) << text;
  EXPECT_NE(text.find(wanted.says), std::string::npos) << text << "\nhas no: " << wanted.says;
  EXPECT_NE(text.find(wanted.fix), std::string::npos) << text << "\nhas no: " << wanted.fix;
  EXPECT_EQ(text.find_first_of("\r\n"), std::string::npos) << text;
  EXPECT_EQ(text.find(". "), std::string::npos) << text;
  EXPECT_EQ(text.find("geheim"), std::string::npos) << text;
  EXPECT_FALSE(error.in_doubt) << text;
}

template <typename Verb>
void expect_verb_refused(Verb verb, const Refusal& wanted) {
  const auto limit = std::chrono::steady_clock::now() + hang_guard;
  auto answer = verb();
  while (!answer && is_another_matter(answer.error(), wanted) &&
         std::chrono::steady_clock::now() < limit) {
    answer = verb();
  }
  ASSERT_FALSE(answer) << wanted.says;
  expect_sentence(answer.error(), wanted);
}

inline void expect_event(const std::shared_ptr<Store>& store, const Refusal& wanted) {
  Candidate candidate(store, "election", {.id = "anna"});
  EventQueue& events = candidate.events();
  candidate.start();
  const auto limit = std::chrono::steady_clock::now() + hang_guard;
  while (std::chrono::steady_clock::now() < limit) {
    const auto event = events.wait_for(std::chrono::seconds{1});
    if (!event || event->kind != EventKind::error) continue;
    if (is_another_matter(*event->error, wanted)) continue;
    EXPECT_FALSE(candidate.is_leader());
    return expect_sentence(*event->error, wanted);
  }
  ADD_FAILURE() << "no event says: " << wanted.says;
}

// Of the verbs that write, and of a candidate.
inline void expect_writing_refused(const PostgresOptions& options, const Refusal& wanted) {
  SCOPED_TRACE(wanted.says);
  const auto store = make_postgres_store(options);
  expect_verb_refused([&] { return end(*store, "election", hang_guard); }, wanted);
  expect_verb_refused([&] { return remove(*store, "election", Remains::trace, hang_guard); },
                      wanted);
  expect_event(store, wanted);
}

inline void expect_refused(const PostgresOptions& options, const Refusal& wanted) {
  SCOPED_TRACE(wanted.says);
  expect_writing_refused(options, wanted);
  const auto store = make_postgres_store(options);
  expect_verb_refused([&] { return inspect(*store, "election", hang_guard); }, wanted);
}

inline void expect_elected(const PostgresOptions& options) {
  Candidate candidate(make_postgres_store(options), "election", {.id = "anna"});
  EXPECT_TRUE(candidate.lead());
}

}  // namespace conclave::conformance
