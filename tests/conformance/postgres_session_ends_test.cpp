// The end of a session: wherever it is destroyed, and on a connection that is not ours.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include "conformance/postgres_session_rig.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;

// ---------------------------------------------------------------- destroyed in a callback

enum class In { setup, greeted, ready, done, notified, lost, failed_done, failed_ready };

class PostgresSessionDestroyed : public ::testing::TestWithParam<In> {
 protected:
  void here(In callback) {
    if (callback != GetParam()) return;
    rig_->session.reset();
    rig_->note("destroyed");
  }

  Session::Handlers handlers() {
    return {.setup =
                [this] {
                  here(In::setup);
                  return std::vector<Statement>{{"LISTEN news"}};
                },
            .greeted = [this](const auto&, PGconn*) -> std::optional<Error> {
              here(In::greeted);
              return std::nullopt;
            },
            .lost = [this](const Error&) { here(In::lost); },
            .notified = [this](const auto&, const auto&) { here(In::notified); }};
  }

  void ask() {
    if (!rig_->session) return;
    rig_->session->send({"SELECT pg_notify('news', '')", {}, long_time}, [this](const auto&) {
      here(In::done);
      if (!rig_->session) return;
      // Ends the session, when it is on its way.
      rig_->session->send({"SELECT pg_terminate_backend(pg_backend_pid())", {}, long_time},
                          [this](const auto&) { here(In::failed_done); });
      rig_->session->send({"SELECT 1", {}, long_time}, [](const auto&) {});
    });
  }

  PostgresServer server_;
  std::unique_ptr<SessionRig> rig_;
};

TEST_P(PostgresSessionDestroyed, DoesNothingMore) {
  auto options = options_for(server_.url());
  if (GetParam() == In::failed_ready) options.url += "?dbname=nowhere";
  rig_ = std::make_unique<SessionRig>(options, Duration{}, handlers());
  rig_->on_loop([&] {
    rig_->session->prepare([this](const std::optional<Error>& why) {
      here(why ? In::failed_ready : In::ready);
      if (!why) ask();
    });
    rig_->session->prepare([](const auto&) {});
  });
  EXPECT_TRUE(rig_->happens("destroyed"));
  EXPECT_TRUE(all_are_gone(server_));
}

INSTANTIATE_TEST_SUITE_P(In, PostgresSessionDestroyed,
                         ::testing::Values(In::setup, In::greeted, In::ready, In::done,
                                           In::notified, In::lost, In::failed_done,
                                           In::failed_ready));

TEST(PostgresSessionEnds, SaysGoodbyeToTheServer) {
  const PostgresServer server({.extra = {"log_disconnections = on"}});
  SessionRig rig(options_for(server.url()));
  ASSERT_EQ(rig.prepare(), std::nullopt);
  rig.destroy();
  EXPECT_TRUE(all_are_gone(server));
  EXPECT_EQ(server.log().find("unexpected EOF"), std::string::npos);
}

TEST(PostgresSessionEnds, AtAnyMomentOfConnecting) {
  const PostgresServer server;
  for (int turn = 0; turn < 30; ++turn) {
    SessionRig rig(options_for(server.url()));
    rig.on_loop([&] { rig.session->open(); });
    for (int i = 0; i < turn / 2; ++i) rig.on_loop([] {});
    rig.destroy();
  }
  EXPECT_TRUE(all_are_gone(server));
}

// The first "lost" hears of a session that still has its locks.
TEST(PostgresSessionEnds, ItsLossIsToldBeforeItsLocksAreFree) {
  PostgresServer server;
  SessionRig* told = nullptr;
  bool was_open = false;
  SessionRig rig(options_for(server.url()), 100ms, {.lost = [&](const Error&) {
                   const pid_t pid = told->session->backend_pid();
                   was_open = pid > 0 && !told->session->is_established();
                 }});
  told = &rig;
  ASSERT_EQ(rig.prepare(), std::nullopt);
  server.pause_backend(rig.pid());
  const auto answer = rig.ask({"SELECT 1", {}, 100ms});
  EXPECT_FALSE(answer);
  ASSERT_TRUE(rig.happens("lost"));
  EXPECT_TRUE(was_open);
}

// ---------------------------------------------------------------- on the application's connection

class PostgresAdopted : public ::testing::Test {
 protected:
  PostgresServer server_;
  const std::shared_ptr<PGconn> connection_{PQconnectdb(server_.url().c_str()), &PQfinish};
};

TEST_F(PostgresAdopted, IsUsedAndGivenBack) {
  {
    SessionRig rig(options_for(server_.url()), {}, {}, connection_);
    EXPECT_EQ(rig.prepare(), std::nullopt);
    EXPECT_EQ(rig.pid(), PQbackendPID(connection_.get()));
    EXPECT_EQ(rig.value("SELECT 1"), "1");
  }
  EXPECT_EQ(PQstatus(connection_.get()), CONNECTION_OK);
  EXPECT_EQ(PQisnonblocking(connection_.get()), 0);
  const std::unique_ptr<PGresult, decltype(&PQclear)> answer(PQexec(connection_.get(), "SELECT 2"),
                                                             &PQclear);
  EXPECT_STREQ(PQgetvalue(answer.get(), 0, 0), "2");
}

TEST_F(PostgresAdopted, IsNotReplacedWhenItBreaks) {
  SessionRig rig(options_for(server_.url()), {}, {}, connection_);
  ASSERT_EQ(rig.prepare(), std::nullopt);
  server_.exec("SELECT pg_terminate_backend($1::int)", {std::to_string(rig.pid())});
  ASSERT_TRUE(rig.happens("lost"));
  const auto why = rig.prepare();
  ASSERT_TRUE(why);
  expect_sentence(*why, ErrorCode::unavailable, "ended the session");
  EXPECT_FALSE(rig.ask({"SELECT 1"}));
}

}  // namespace
}  // namespace conclave::conformance
