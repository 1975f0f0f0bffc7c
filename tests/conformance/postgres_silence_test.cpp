// Sessions of processes that stand still, do not read, or have vanished: the server ends them.
#include <gtest/gtest.h>

#include "conformance/postgres_session_rig.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;

// Ten of these, and it is over.
PostgresOptions of_short_lease(const PostgresServer& server) {
  PostgresOptions options = options_for(server.url());
  options.lease = 400ms;
  options.request_timeout = 200ms;  // a busy machine shall not break it
  return options;
}

class PostgresSilence : public ::testing::Test {
 protected:
  PostgresSilence() {
    rig_ = std::make_unique<SessionRig>(of_short_lease(server_));
    EXPECT_TRUE(rig_->becomes_ready());
    first_ = rig_->pid();
  }

  [[nodiscard]] bool is_there() const {
    return server_.value("select count(*) from pg_stat_activity where pid = $1::int",
                         {std::to_string(first_)}) == "1";
  }
  // The loop does nothing else meanwhile, as that of a stopped process.
  void stand_still_until_ended(const std::function<void()>& meanwhile = [] {}) {
    rig_->on_loop([&] {
      meanwhile();
      const auto limit = std::chrono::steady_clock::now() + hang_guard / 2;
      while (is_there() && std::chrono::steady_clock::now() < limit) {
        std::this_thread::sleep_for(10ms);
      }
      EXPECT_FALSE(is_there());
    });
  }

  const PostgresServer server_;
  std::unique_ptr<SessionRig> rig_;
  int first_ = 0;
};

TEST_F(PostgresSilence, EndsASessionThatStandsStill) {
  stand_still_until_ended();
  EXPECT_TRUE(rig_->happens("lost"));
  EXPECT_TRUE(rig_->becomes_ready());
  EXPECT_NE(rig_->pid(), first_);
}

// Not by the time that it is idle: it is busy with what nobody reads, and all others' letters wait.
TEST_F(PostgresSilence, EndsASessionThatDoesNotReadItsLetters) {
  ASSERT_TRUE(rig_->ask({"LISTEN news", {}, long_time}));
  const auto unread = [&] { return server_.value("select pg_notification_queue_usage() > 0"); };
  stand_still_until_ended([&] {
    server_.exec(
        "select pg_notify('news', i || repeat('x', 7900)) from generate_series(1, 4000) i");
    EXPECT_EQ(unread(), "t") << "it was not flooded";
  });
  // Whoever comes next finds no letters of old.
  ASSERT_TRUE(rig_->happens("lost"));
  EXPECT_TRUE(rig_->becomes_ready());
  ASSERT_TRUE(rig_->ask({"LISTEN news", {}, long_time}));
  server_.exec("select pg_notify('news', 'last')");
  EXPECT_TRUE(rig_->happens("news=last"));
  EXPECT_EQ(unread(), "f");
}

TEST_F(PostgresSilence, IsBrokenInTime) {
  const auto silent_for = [&] {
    return server_.value(
        "select extract(epoch from clock_timestamp() - backend_start) > 5 from pg_stat_activity "
        "where pid = $1::int",
        {std::to_string(first_)});
  };
  while (is_there() && silent_for() != "t") std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(is_there());
  EXPECT_EQ(rig_->notes(), std::vector<std::string>{});
}

// A server notices by itself that a host has vanished, whatever it was told to do.
TEST_F(PostgresSilence, OfAHostIsNoticed) {
  server_.exec("alter role conclave set tcp_keepalives_idle = 7200");
  server_.exec("alter role conclave set tcp_user_timeout = 1");
  SessionRig rig(of_short_lease(server_));
  ASSERT_TRUE(rig.becomes_ready());
  EXPECT_EQ(rig.value("select current_setting('tcp_user_timeout')"), "4000");
  EXPECT_EQ(rig.value("select current_setting('tcp_keepalives_idle')"), "4");
  EXPECT_EQ(rig.value("select current_setting('tcp_keepalives_interval')"), "1");
}

TEST(PostgresLongestSilence, IsNeverShorterThanALease) {
  for (const Duration lease : {Duration{100ms}, Duration{3s}, Duration{30min}, Duration{100h}}) {
    postgres::Settings settings;
    settings.lease = lease;
    EXPECT_GE(postgres::longest_silence(settings), lease);
    EXPECT_LE(postgres::longest_silence(settings), std::max<Duration>(2h, lease));
  }
}

}  // namespace
}  // namespace conclave::conformance
