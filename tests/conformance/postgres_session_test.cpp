// Statements of a session with a real server: their order, their time, and what ends them.
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include "conformance/postgres_session_rig.hpp"
#include "servers/certificates.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

TEST(PostgresSession, GivesRowsOfValues) {
  const PostgresServer server;
  SessionRig rig(options_for(server.url()));
  EXPECT_EQ(rig.prepare(), std::nullopt);
  const auto before = rig.loop->clock().now();
  const auto answer =
      rig.ask({"SELECT $1::text, $2::text, 42, 'x', 9223372036854775808", {"a\nb", std::nullopt}});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->rows.size(), 1U);
  EXPECT_EQ(*answer->rows.text(0, 0), "a\nb");
  EXPECT_EQ(answer->rows.text(0, 1), nullptr);
  EXPECT_EQ(answer->rows.text(0, 5), nullptr);
  EXPECT_EQ(answer->rows.text(1, 0), nullptr);
  EXPECT_EQ(answer->rows.number(0, 2), 42);
  EXPECT_EQ(answer->rows.number(0, 3), std::nullopt);
  EXPECT_EQ(answer->rows.number(0, 4), std::nullopt);
  EXPECT_EQ(answer->rows.tag, "SELECT 1");
  EXPECT_FALSE(answer->replication_cancelled);
  EXPECT_LE(before, answer->sent);
  EXPECT_LT(answer->sent, answer->received);
  EXPECT_EQ(rig.last_confirmed(), answer->sent);
  EXPECT_EQ(rig.value("SELECT pg_backend_pid()"), std::to_string(rig.pid()));
}

TEST(PostgresSession, SendsWhatWasQueuedBeforeItConnected) {
  const PostgresServer server;
  SessionRig rig(options_for(server.url()));
  EXPECT_EQ(rig.value("SELECT 'x'"), "x");
}

TEST(PostgresSession, SendsInOrder) {
  const PostgresServer server;
  server.exec("CREATE TABLE said (at serial, number int)");
  SessionRig rig(options_for(server.url()));
  std::vector<std::future<Result<Delivered>>> answers;
  for (int i = 0; i < 50; ++i) {
    answers.push_back(
        rig.send({"INSERT INTO said (number) VALUES ($1)", {std::to_string(i)}, long_time}));
  }
  for (auto& each : answers) EXPECT_TRUE(SessionRig::answer_of(std::move(each)));
  EXPECT_EQ(server.value("SELECT count(*) FROM said WHERE at = number + 1"), "50");
}

TEST(PostgresSession, KeepsItsConnectionWhenAStatementFails) {
  const PostgresServer server;
  SessionRig rig(options_for(server.url()));
  ASSERT_EQ(rig.prepare(), std::nullopt);
  const int pid = rig.pid();
  const auto failed = rig.ask({"SELECT 1 / 0", {}, long_time});
  ASSERT_FALSE(failed);
  expect_sentence(failed.error(), ErrorCode::unsupported, "(22012): division by zero");
  EXPECT_FALSE(failed.error().in_doubt);
  const auto missing = rig.ask({"SELECT * FROM nowhere", {}, long_time});
  ASSERT_FALSE(missing);
  expect_sentence(missing.error(), ErrorCode::invalid_state, "relation \"nowhere\" does not exist");
  EXPECT_EQ(rig.value("SELECT 1"), "1");
  EXPECT_EQ(rig.pid(), pid);
  EXPECT_EQ(rig.notes(), (Strings{"error", "error", "answer"}));
}

TEST(PostgresSession, RefusesACopyAndGoesOn) {
  const PostgresServer server;
  SessionRig rig(options_for(server.url()));
  ASSERT_EQ(rig.prepare(), std::nullopt);
  const auto copied = rig.ask({"COPY (SELECT 1) TO STDOUT", {}, long_time});
  ASSERT_FALSE(copied);
  expect_sentence(copied.error(), ErrorCode::unsupported, "no statement of ours");
  EXPECT_TRUE(rig.becomes_ready());
}

TEST(PostgresSession, ReadsBigResults) {
  const PostgresServer server;
  SessionRig rig(options_for(server.url()));
  const auto answer =
      rig.ask({"SELECT i, repeat('x', 1000) FROM generate_series(1, 20000) i", {}, long_time});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->rows.size(), 20000U);
  EXPECT_EQ(answer->rows.number(19999, 0), 20000);
}

TEST(PostgresSession, ReadsAndWritesMuchOverTls) {
  servers::Certificates certificates;
  const auto shown = certificates.server();
  const PostgresServer server(
      {.tls = servers::PostgresTls{shown.certificate, shown.key, certificates.authority()}});
  SessionRig rig(
      options_for(server.url() + "?sslmode=verify-full&sslrootcert=" + certificates.authority()));
  EXPECT_EQ(rig.value("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"), "t");
  for (const std::size_t size : {8191U, 8193U, 16384U, 40000U, 5000000U}) {
    const auto answer = rig.ask({"SELECT $1::text", {std::string(size, 'x')}, long_time});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->rows.text(0, 0)->size(), size);
  }
}

TEST(PostgresSession, HearsNotifications) {
  const PostgresServer server;
  SessionRig rig(options_for(server.url()), {},
                 {.setup = [] { return std::vector<Statement>{{"LISTEN news"}}; }});
  ASSERT_EQ(rig.prepare(), std::nullopt);
  server.exec("SELECT pg_notify('news', 'first')");
  EXPECT_TRUE(rig.happens("news=first"));
  server.exec("NOTIFY news");
  EXPECT_TRUE(rig.happens("news="));
  EXPECT_EQ(rig.value("NOTIFY news, 'own'"), "NULL");
  EXPECT_TRUE(rig.happens("news=own"));
}

// ---------------------------------------------------------------- time

TEST(PostgresSession, GivesUpAConnectionWithoutAnswers) {
  PostgresServer server;
  auto options = options_for(server.url());
  SessionRig rig(options);
  ASSERT_EQ(rig.prepare(), std::nullopt);
  server.pause();
  auto under_way = rig.send({"SELECT 1", {}, 200ms});
  auto waiting = rig.send({"SELECT 2", {}, long_time});
  const auto answer = SessionRig::answer_of(std::move(under_way));
  ASSERT_FALSE(answer);
  expect_sentence(answer.error(), ErrorCode::timed_out, "did not answer within 200 ms");
  EXPECT_TRUE(answer.error().in_doubt);
  const auto unsent = SessionRig::answer_of(std::move(waiting));
  ASSERT_FALSE(unsent);
  EXPECT_FALSE(unsent.error().in_doubt);
  EXPECT_EQ(rig.notes(), (Strings{"lost", "error", "error"}));
  server.resume();
  EXPECT_TRUE(rig.becomes_ready());
  EXPECT_EQ(rig.value("SELECT 3"), "3");
}

// The server does not notice that nobody waits for the answer any more.
TEST(PostgresSession, EndsWhatItHasGivenUp) {
  const PostgresServer server;
  auto other = server.client();
  other.exec("SELECT pg_advisory_lock(1)");
  SessionRig rig(options_for(server.url()));
  ASSERT_EQ(rig.prepare(), std::nullopt);
  const int pid = rig.pid();
  EXPECT_FALSE(rig.ask({"SELECT pg_advisory_lock(1)", {}, 200ms}));
  ASSERT_TRUE(rig.becomes_ready());
  EXPECT_NE(rig.pid(), pid);
  while (!server.backends("pid = " + std::to_string(pid)).empty()) std::this_thread::yield();
  EXPECT_EQ(rig.value("SELECT 3"), "3");
}

TEST(PostgresSession, DoesNotBlameAConnectionForTheTimeInTheQueue) {
  const PostgresServer server;
  SessionRig rig(options_for(server.url()));
  ASSERT_EQ(rig.prepare(), std::nullopt);
  const int pid = rig.pid();
  auto slow = rig.send({"SELECT pg_sleep(0.9)", {}, long_time});
  auto queued = rig.send({"SELECT pg_sleep(0.3)", {}, 1s});
  auto last = rig.send({"SELECT 3", {}, long_time});
  EXPECT_TRUE(SessionRig::answer_of(std::move(slow)));
  EXPECT_FALSE(SessionRig::answer_of(std::move(queued))) << "its patience counts from the queue";
  EXPECT_TRUE(SessionRig::answer_of(std::move(last)));
  EXPECT_EQ(rig.pid(), pid);
  EXPECT_EQ(rig.notes(), (Strings{"answer", "error", "answer"}));
}

TEST(PostgresSession, KeepsAConnectionForItsTolerance) {
  PostgresServer server;
  SessionRig rig(options_for(server.url()), long_time);
  ASSERT_EQ(rig.prepare(), std::nullopt);
  const int pid = rig.pid();
  const auto confirmed = rig.last_confirmed();
  server.pause();
  auto late = rig.send({"SELECT 1", {}, 100ms});
  auto unsent = rig.send({"SELECT 2", {}, 150ms});
  auto patient = rig.send({"SELECT 3", {}, long_time});
  const auto first = SessionRig::answer_of(std::move(late));
  const auto second = SessionRig::answer_of(std::move(unsent));
  ASSERT_TRUE(!first && !second);
  EXPECT_EQ(first.error().code, ErrorCode::timed_out);
  EXPECT_TRUE(first.error().in_doubt);
  EXPECT_EQ(second.error().code, ErrorCode::timed_out);
  EXPECT_FALSE(second.error().in_doubt) << "it was not sent";
  EXPECT_EQ(rig.last_confirmed(), confirmed);
  server.resume();
  const auto third = SessionRig::answer_of(std::move(patient));
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(third->rows.number(0, 0), 3);
  EXPECT_EQ(rig.last_confirmed(), third->sent);
  EXPECT_EQ(rig.pid(), pid);
  EXPECT_EQ(rig.notes(), (Strings{"error", "error", "answer"}));
}

TEST(PostgresSession, EndsAConnectionAfterItsTolerance) {
  PostgresServer server;
  SessionRig rig(options_for(server.url()), 500ms);
  ASSERT_EQ(rig.prepare(), std::nullopt);
  server.pause();
  const auto sent = std::chrono::steady_clock::now();
  EXPECT_FALSE(rig.ask({"SELECT 1", {}, 100ms}));
  EXPECT_EQ(rig.notes(), Strings{"error"});
  EXPECT_TRUE(rig.happens("lost"));
  EXPECT_GE(std::chrono::steady_clock::now() - sent, 500ms);
  server.resume();
  EXPECT_TRUE(rig.becomes_ready());
}

TEST(PostgresSession, LetsAStatementWaitLongerThanOthers) {
  const PostgresServer server;
  auto options = options_for(server.url());
  options.request_timeout = 50ms;
  auto other = server.client();
  other.exec("SELECT pg_advisory_lock(1)");
  SessionRig rig(options);
  ASSERT_TRUE(rig.becomes_ready());
  auto waits = rig.send({"SELECT pg_advisory_lock(1)", {}, long_time});
  EXPECT_EQ(waits.wait_for(500ms), std::future_status::timeout);
  other.exec("SELECT pg_advisory_unlock(1)");
  EXPECT_TRUE(SessionRig::answer_of(std::move(waits)));
  EXPECT_EQ(rig.notes(), Strings{"answer"});
}

// ---------------------------------------------------------------- what ends a session

TEST(PostgresSession, TellsItsLossBeforeAnythingElse) {
  const PostgresServer server;
  SessionRig rig(options_for(server.url()));
  ASSERT_EQ(rig.prepare(), std::nullopt);
  const int pid = rig.pid();
  auto under_way = rig.send({"SELECT pg_sleep(60)", {}, long_time});
  auto waiting = rig.send({"SELECT 1", {}, long_time});
  server.exec("SELECT pg_terminate_backend($1::int)", {std::to_string(pid)});
  const auto ended = SessionRig::answer_of(std::move(under_way));
  const auto unsent = SessionRig::answer_of(std::move(waiting));
  ASSERT_TRUE(!ended && !unsent);
  expect_sentence(ended.error(), ErrorCode::unavailable, "ended the session");
  EXPECT_TRUE(ended.error().in_doubt);
  EXPECT_FALSE(unsent.error().in_doubt);
  EXPECT_EQ(rig.notes(), (Strings{"lost", "error", "error"}));
  EXPECT_TRUE(rig.becomes_ready());
  EXPECT_NE(rig.pid(), pid);
}

TEST(PostgresSession, KnowsWhyAnIdleOneWasEnded) {
  const PostgresServer server;
  SessionRig rig(options_for(server.url()));
  ASSERT_EQ(rig.prepare(), std::nullopt);
  ASSERT_EQ(rig.value("SET idle_session_timeout = 50"), "NULL");
  ASSERT_TRUE(rig.happens("lost"));
  expect_sentence(rig.why_lost(), ErrorCode::unavailable, "idle_session_timeout");
  EXPECT_TRUE(rig.becomes_ready());
}

TEST(PostgresSession, ComesBackAfterRestarts) {
  PostgresServer server;
  SessionRig rig(options_for(server.url()));
  ASSERT_EQ(rig.prepare(), std::nullopt);
  server.restart();
  ASSERT_TRUE(rig.happens("lost"));
  ASSERT_TRUE(rig.becomes_ready());
  server.kill();
  ASSERT_TRUE(rig.happens("lost", 2));
  const auto refused = rig.prepare();
  ASSERT_TRUE(refused);
  expect_sentence(*refused, ErrorCode::unavailable, "127.0.0.1");
  EXPECT_TRUE(refused->retryable);
  server.start();
  EXPECT_TRUE(rig.becomes_ready());
}

TEST(PostgresSession, KnowsWhenStandbysMayNotHaveIt) {
  PostgresServer server;
  server.exec("CREATE TABLE t (x int)");
  const auto standby = server.standby();
  SessionRig rig(options_for(server.url()));
  ASSERT_EQ(rig.prepare(), std::nullopt);
  standby->pause();
  auto answer = rig.send({"INSERT INTO t VALUES (1)", {}, long_time});
  const auto waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
  while (server.value(waits) == "0") std::this_thread::yield();
  server.exec("SELECT pg_cancel_backend($1::int)", {std::to_string(rig.pid())});
  const auto committed = SessionRig::answer_of(std::move(answer));
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_TRUE(committed->replication_cancelled);
  const auto next = rig.ask({"SELECT 1", {}, long_time});
  ASSERT_TRUE(next);
  EXPECT_FALSE(next->replication_cancelled);
}

TEST(PostgresSession, TellsWhoWaitsWhenItIsClosed) {
  const PostgresServer server;
  SessionRig rig(options_for(server.url()));
  ASSERT_EQ(rig.prepare(), std::nullopt);
  auto under_way = rig.send({"SELECT pg_sleep(60)", {}, long_time});
  auto waiting = rig.send({"SELECT 1", {}, long_time});
  rig.on_loop([&] { rig.session->close(); });
  const auto ended = SessionRig::answer_of(std::move(under_way));
  const auto unsent = SessionRig::answer_of(std::move(waiting));
  ASSERT_TRUE(!ended && !unsent);
  expect_sentence(ended.error(), ErrorCode::cancelled, "was closed");
  EXPECT_TRUE(ended.error().in_doubt);
  EXPECT_FALSE(unsent.error().in_doubt);
  const auto after = rig.ask({"SELECT 1"});
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().code, ErrorCode::cancelled);
  EXPECT_EQ(rig.prepare().value_or(Error{}).code, ErrorCode::cancelled);
  EXPECT_EQ(rig.notes(), (Strings{"error", "error", "error"})) << "its owner has not lost it";
}

}  // namespace
}  // namespace conclave::conformance
