// A whole candidate on a Redis store, and what it tells of itself.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

#include <conclave/candidate.hpp>
#include <conclave/redis.hpp>

#include "servers/redis_server.hpp"

namespace conclave::conformance {

// Who waits that long hangs.
inline constexpr std::chrono::seconds person_hang_guard{60};

class Person {
 public:
  // `cool_down` where somebody else has to lead before it does again, however long that takes.
  explicit Person(std::shared_ptr<Store> store, const std::string& id = "anna",
                  std::optional<Duration> cool_down = {})
      : candidate_(std::move(store), "election", {.id = id, .cool_down = cool_down}),
        events_(candidate_.events()) {
    candidate_.start();
  }
  explicit Person(RedisOptions options, const std::string& id = "anna")
      : Person(make_redis_store(std::move(options)), id) {}

  Candidate* operator->() { return &candidate_; }

  // The next event of that kind; none when it does not come.
  std::optional<Event> next(EventKind kind) {
    const auto limit = std::chrono::steady_clock::now() + person_hang_guard;
    while (std::chrono::steady_clock::now() < limit) {
      auto event = events_.wait_for(std::chrono::seconds{1});
      if (event && event->kind == kind) return event;
    }
    return std::nullopt;
  }
  bool is_elected() { return candidate_.is_leader() || next(EventKind::elected).has_value(); }

  // The next error with that code, or that says this. Others, such as one of a server that is slow,
  // may come before.
  Error error(ErrorCode code) {
    return error([&](const Error& each) { return each.code == code; },
                 "the code " + std::string(to_string(code)));
  }
  Error error(const std::string& says) {
    return error([&](const Error& each) { return each.message.find(says) != std::string::npos; },
                 "the words " + says);
  }

 private:
  template <typename Wanted>
  Error error(Wanted is_wanted, const std::string& what) {
    const auto limit = std::chrono::steady_clock::now() + person_hang_guard;
    std::string others;
    while (std::chrono::steady_clock::now() < limit) {
      const auto event = next(EventKind::error);
      if (!event) break;
      if (is_wanted(*event->error)) return *event->error;
      others += event->error->message + "\n";
    }
    ADD_FAILURE() << "no error with " << what << ", but:\n" << others;
    return {};
  }

  Candidate candidate_;
  EventQueue& events_;
};

inline RedisOptions options_of(const servers::RedisServer& server) {
  RedisOptions options;
  options.port = server.port();
  options.lease = std::chrono::milliseconds{800};
  return options;
}

// One sentence, and none of the passwords that the tests use.
inline void expect_sentence(const Error& error, const std::string& says) {
  EXPECT_NE(error.message.find(says), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find_first_of("\r\n"), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find(". "), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find("geheim"), std::string::npos) << error.message;
}

}  // namespace conclave::conformance
