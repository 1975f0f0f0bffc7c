// A stream on a loop of its own, and all that it says.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/asio_loop.hpp"
#include "net/stream.hpp"
#include "net/waiting.hpp"

namespace conclave::net {

// Whether all of the words are in the message.
inline ::testing::AssertionResult says(const Error& error, const std::vector<std::string>& words) {
  for (const auto& each : words) {
    if (error.message.find(each) == std::string::npos) {
      return ::testing::AssertionFailure() << "no \"" << each << "\" in: " << error.message;
    }
  }
  return ::testing::AssertionSuccess();
}

inline std::string long_text(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>((i * 2654435761U) >> 13U);
  return text;
}

class Probe {
 public:
  explicit Probe(Endpoint endpoint) {
    on_loop([&] {
      stream_ = std::make_unique<Stream>(loop_, std::move(endpoint), handlers());
      is_in_a_call_ = false;
    });
  }
  ~Probe() {
    on_loop([&] { stream_.reset(); });
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  void on_loop(const std::function<void()>& task) {
    std::promise<void> done;
    loop_.post([&] {
      task();
      done.set_value();
    });
    ASSERT_TRUE(comes(done.get_future()));
  }

  void write(std::string bytes) {
    on_loop([&] {
      is_in_a_call_ = true;
      if (stream_) stream_->write(std::move(bytes));
      is_in_a_call_ = false;
    });
  }
  void close() {
    on_loop([&] { stream_->close(); });
  }
  void destroy() {
    on_loop([&] { stream_.reset(); });
  }

  // Runs inside the handler, on the loop. Set it there too, or before there is a server.
  std::function<void()> when_connected{};
  std::function<void()> when_received{};
  std::function<void()> when_failed{};

  // Each waits. Of what has come in all: the failure ends every wait.
  [[nodiscard]] bool connects() {
    return waits([&] { return connected_ > 0; }) && connected_ == 1;
  }
  [[nodiscard]] std::string receives(std::size_t size) {
    waits([&] { return received_.size() >= size; });
    const std::scoped_lock lock(mutex_);
    return received_;
  }
  [[nodiscard]] Error fails() {
    waits([&] { return failed_.has_value(); });
    const std::scoped_lock lock(mutex_);
    return failed_.value_or(Error{ErrorCode::cancelled, "it did not fail", false, false});
  }
  [[nodiscard]] int connected() {
    const std::scoped_lock lock(mutex_);
    return connected_;
  }
  [[nodiscard]] bool has_failed() {
    const std::scoped_lock lock(mutex_);
    return failed_.has_value();
  }

  [[nodiscard]] Stream& stream() { return *stream_; }
  [[nodiscard]] std::unique_ptr<Stream>& owner() { return stream_; }
  [[nodiscard]] AsioLoop& loop() { return loop_; }

 private:
  Stream::Handlers handlers() {
    return {.connected = [this] { heard([&] { connected_ += 1; }, when_connected); },
            .received =
                [this](std::string_view bytes) {
                  EXPECT_FALSE(bytes.empty());
                  heard([&] { received_ += bytes; }, when_received);
                },
            .failed =
                [this](const Error& error) {
                  EXPECT_FALSE(has_failed()) << "it failed twice";
                  heard([&] { failed_ = error; }, when_failed);
                }};
  }

  void heard(const std::function<void()>& note, const std::function<void()>& then) {
    EXPECT_TRUE(loop_.runs_here());
    EXPECT_FALSE(is_in_a_call_);
    EXPECT_FALSE(has_failed()) << "something came after the failure";
    {
      const std::scoped_lock lock(mutex_);
      note();
      changed_.notify_all();
    }
    if (then) then();
  }

  bool waits(const std::function<bool()>& until) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, hang_guard, [&] { return until() || failed_; }));
    return until();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int connected_ = 0;
  std::string received_;
  std::optional<Error> failed_;
  bool is_in_a_call_ = true;
  AsioLoop loop_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace conclave::net
