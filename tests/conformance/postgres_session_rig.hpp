// A session on a loop of its own, and all that it says.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "servers/postgres_server.hpp"
#include "stores/postgres/session.hpp"

namespace conclave::conformance {

using postgres::Delivered;
using postgres::Session;
using postgres::Statement;
using servers::PostgresServer;

inline constexpr std::chrono::seconds hang_guard{30};
inline constexpr std::chrono::seconds long_time{20};

inline std::shared_ptr<const postgres::Settings> settings_for(const PostgresOptions& options) {
  auto settings = postgres::settings_of(options);
  if (!settings) throw std::runtime_error(settings.error().message);
  return std::make_shared<const postgres::Settings>(*std::move(settings));
}

// Long enough for a busy machine; those who wait for its end set less.
inline PostgresOptions options_for(const std::string& url) {
  PostgresOptions options;
  options.url = url;
  options.lease = std::chrono::seconds{20};
  return options;
}

class SessionRig {
 public:
  explicit SessionRig(const PostgresOptions& options, Duration tolerance = {},
                      Session::Handlers handlers = {}, std::shared_ptr<PGconn> adopted = {}) {
    on_loop([&] {
      const auto settings = settings_for(options);
      session =
          std::make_unique<Session>(*loop, settings, with_notes(std::move(handlers)),
                                    Session::Keeping{.tolerance = tolerance}, std::move(adopted));
    });
  }
  ~SessionRig() { destroy(); }
  SessionRig(const SessionRig&) = delete;
  SessionRig& operator=(const SessionRig&) = delete;

  void on_loop(const std::function<void()>& task) const {
    std::promise<void> done;
    loop->post([&] {
      task();
      done.set_value();
    });
    ASSERT_EQ(done.get_future().wait_for(hang_guard), std::future_status::ready) << "it hangs";
  }
  void destroy() {
    on_loop([&] { session.reset(); });
  }

  // Nothing when it is ready.
  [[nodiscard]] std::optional<Error> prepare() {
    auto told = std::make_shared<std::promise<std::optional<Error>>>();
    on_loop([&] {
      session->prepare([told](const std::optional<Error>& why) { told->set_value(why); });
    });
    auto future = told->get_future();
    if (future.wait_for(hang_guard) != std::future_status::ready) {
      return Error{ErrorCode::timed_out, "prepare() hangs", false, false};
    }
    return future.get();
  }
  [[nodiscard]] bool becomes_ready() {
    const auto limit = std::chrono::steady_clock::now() + hang_guard;
    while (std::chrono::steady_clock::now() < limit) {
      if (!prepare()) return true;
    }
    return false;
  }

  // The answer comes later.
  std::future<Result<Delivered>> send(Statement statement) {
    auto told = std::make_shared<std::promise<Result<Delivered>>>();
    on_loop([&] {
      session->send(std::move(statement), [this, told](Result<Delivered> answer) {
        note(answer ? "answer" : "error");
        told->set_value(std::move(answer));
      });
    });
    return told->get_future();
  }
  [[nodiscard]] static Result<Delivered> answer_of(std::future<Result<Delivered>> future) {
    if (future.wait_for(hang_guard) != std::future_status::ready) {
      return Error{ErrorCode::timed_out, "no answer at all", false, false};
    }
    return future.get();
  }
  [[nodiscard]] Result<Delivered> ask(Statement statement) {
    return answer_of(send(std::move(statement)));
  }
  // The first value; what went wrong instead of it.
  [[nodiscard]] std::string value(const std::string& sql) {
    const auto answer = ask({sql, {}, long_time});
    if (!answer) return answer.error().message;
    const auto* const text = answer->rows.text(0, 0);
    return text != nullptr ? *text : "NULL";
  }

  [[nodiscard]] int pid() const {
    int number = 0;
    on_loop([&] { number = session->backend_pid(); });
    return number;
  }

  [[nodiscard]] std::optional<Instant> last_confirmed() const {
    std::optional<Instant> found;
    on_loop([&] { found = session->last_confirmed(); });
    return found;
  }
  [[nodiscard]] bool is_pooled() const {
    bool pooled = false;
    on_loop([&] { pooled = session->is_pooled(); });
    return pooled;
  }

  // What happened, in its order: "lost", "answer", "error", "channel=payload".
  void note(const std::string& what) {
    const std::scoped_lock lock(mutex_);
    notes_.push_back(what);
    changed_.notify_all();
  }
  [[nodiscard]] std::vector<std::string> notes() {
    const std::scoped_lock lock(mutex_);
    return notes_;
  }
  [[nodiscard]] bool happens(const std::string& what, int times = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(
        lock, hang_guard, [&] { return std::count(notes_.begin(), notes_.end(), what) >= times; });
  }
  [[nodiscard]] Error why_lost() {
    const std::scoped_lock lock(mutex_);
    return lost_;
  }

  const std::shared_ptr<net::AsioLoop> loop = net::given_or_new(nullptr);
  std::unique_ptr<Session> session;

 private:
  Session::Handlers with_notes(Session::Handlers handlers) {
    handlers.lost = [this, then = std::move(handlers.lost)](const Error& why) {
      {
        const std::scoped_lock lock(mutex_);
        lost_ = why;
      }
      note("lost");
      if (then) then(why);
    };
    handlers.notified = [this, then = std::move(handlers.notified)](const std::string& channel,
                                                                    const std::string& payload) {
      note(channel + "=" + payload);
      if (then) then(channel, payload);
    };
    return handlers;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> notes_;
  Error lost_{};
};

[[nodiscard]] inline bool all_are_gone(const PostgresServer& server) {
  const auto is_any = [&] { return !server.backends("application_name = 'conclave'").empty(); };
  const auto limit = std::chrono::steady_clock::now() + hang_guard;
  while (is_any() && std::chrono::steady_clock::now() < limit) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return !is_any();
}

// One sentence that has these words, and no others that must not be there.
inline void expect_sentence(const Error& error, ErrorCode code, const std::string& words) {
  EXPECT_EQ(error.code, code) << error.message;
  EXPECT_NE(error.message.find(words), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find("secret"), std::string::npos) << error.message;
}

}  // namespace conclave::conformance
