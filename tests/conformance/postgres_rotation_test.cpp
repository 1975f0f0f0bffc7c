// P14: a password or a certificate is replaced on the server under a leader. It is taken at the
// next connection, without a restart. By the clock the term goes on; by a lock it ends with its
// session, and there is another one.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include <conclave/candidate.hpp>
#include <conclave/postgres.hpp>
#include <conclave/waits.hpp>

#include "servers/certificates.hpp"
#include "servers/postgres_server.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;
using servers::Certificate;
using servers::Certificates;
using servers::PostgresServer;
namespace fs = std::filesystem;

constexpr Duration hang_guard = 60s;

// A file is replaced at one stroke, as whoever rotates secrets does. Nobody else may read a key.
void put(const std::string& path, const std::string& content) {
  std::ofstream(path + ".new") << content;
  fs::permissions(path + ".new", fs::perms::owner_read | fs::perms::owner_write);
  fs::rename(path + ".new", path);
}

bool connects(const std::string& url) {
  try {
    static_cast<void>(servers::PostgresClient(url));
    return true;
  } catch (const servers::PostgresError&) {
    return false;
  }
}

std::vector<pid_t> sessions_on(const PostgresServer& server) {
  return server.backends("application_name = 'conclave'");
}

void end_sessions(const PostgresServer& server) {
  server.exec(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'conclave'");
}

class PostgresRotation : public ::testing::TestWithParam<PostgresMode> {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

  [[nodiscard]] static PostgresOptions options_of(const std::string& url) {
    PostgresOptions options;
    options.url = url;
    options.mode = GetParam();
    options.lease = 6s;  // long enough for new connections, also with TLS on a busy machine
    return options;
  }

  // She leads on new sessions, and hands over to who has come later.
  static void expect_led_through(const PostgresServer& server, const PostgresOptions& options,
                                 const std::function<void(Candidate&)>& rotate) {
    Candidate anna(make_postgres_store(options), "election", {.id = "anna"});
    EventQueue& events = anna.events();
    anna.start();
    ASSERT_TRUE(wait_until_leader(anna, hang_guard));
    const Term term = anna.snapshot().term;
    const auto before = sessions_on(server);
    rotate(anna);
    const auto are_new = [&] {
      const auto now = sessions_on(server);
      return !now.empty() && std::none_of(now.begin(), now.end(), [&](pid_t each) {
        return std::find(before.begin(), before.end(), each) != before.end();
      });
    };
    const auto limit = std::chrono::steady_clock::now() + hang_guard;
    const auto until = [&](const std::function<bool()>& done) {
      while (!done() && std::chrono::steady_clock::now() < limit) {
        static_cast<void>(events.wait_for(100ms));
      }
      return done();
    };
    ASSERT_TRUE(until(are_new));
    const auto renewals = anna.snapshot().counters.renewals;
    ASSERT_TRUE(until([&] { return anna.snapshot().counters.renewals > renewals; }));
    EXPECT_TRUE(anna.is_leader());
    const Term now = anna.snapshot().term;
    if (GetParam() == PostgresMode::lease) {
      EXPECT_EQ(now, term);
    } else {
      EXPECT_GT(now, term);
    }
    Candidate bob(make_postgres_store(options), "election", {.id = "bob"});
    bob.start();
    ASSERT_EQ(wait_until_role_known(bob, hang_guard), Role::follower);
    EXPECT_TRUE(anna.stop());
    EXPECT_TRUE(wait_until_leader(bob, hang_guard));
    EXPECT_GT(bob.snapshot().term, now);
  }

 private:
  const servers::TemporaryFolder folder_{"rotation"};
};

class PostgresPassword : public PostgresRotation {
 protected:
  [[nodiscard]] std::string url(const std::string& password) const {
    return server_.url({"anna", password});
  }
  [[nodiscard]] PostgresOptions with_password_file() const {
    put(file("password"), "old\n");
    PostgresOptions options =
        options_of("postgres://anna@127.0.0.1:" + std::to_string(server_.port()) + "/postgres");
    options.password_file = file("password");
    return options;
  }
  void change_on_server() const {
    server_.exec("alter role anna password 'new'");
    ASSERT_FALSE(connects(url("old")));
    ASSERT_TRUE(connects(url("new")));
  }

  const PostgresServer server_{{.users = {{"anna", "old", "SUPERUSER"}}}};
};

TEST_P(PostgresPassword, P14_IsReadAnew) {
  expect_led_through(server_, with_password_file(), [&](Candidate&) {
    put(file("password"), "new\n");
    change_on_server();
    end_sessions(server_);
  });
}

// Whoever rotates does both one after the other. Who comes in between is told, and tries again.
TEST_P(PostgresPassword, P14_MayBeChangedOnTheServerFirst) {
  expect_led_through(server_, with_password_file(), [&](Candidate& anna) {
    change_on_server();
    end_sessions(server_);
    std::optional<Error> error;
    while (!error || error->code != ErrorCode::denied) {
      const auto event = anna.events().wait_for(hang_guard);
      ASSERT_TRUE(event);
      error = event->error;
    }
    EXPECT_NE(error->message.find("password"), std::string::npos) << error->message;
    put(file("password"), "new\n");
  });
}

class PostgresCertificates : public PostgresRotation {};

// The server shows another certificate, of another authority, and believes only what that signed.
TEST_P(PostgresCertificates, P14_OfBothSidesAreReadAnew) {
  Certificates old;
  Certificates renewed;
  const Certificate shown = old.server();
  const PostgresServer server(
      {.tls = servers::PostgresTls{shown.certificate, shown.key, old.authority(), true}});
  const auto with = [&](const std::string& authority, const Certificate& ours) {
    return server.url() + "?sslmode=verify-full&sslrootcert=" + authority +
           "&sslcert=" + ours.certificate + "&sslkey=" + ours.key;
  };
  const auto use = [&](Certificates& made) {
    const Certificate ours = made.client("anna");
    put(file("authority"), servers::text_of(made.authority()));
    put(file("key"), servers::text_of(ours.key));
    put(file("certificate"), servers::text_of(ours.certificate));
  };
  use(old);
  const auto options = options_of(with(file("authority"), {file("certificate"), file("key")}));
  expect_led_through(server, options, [&](Candidate&) {
    use(renewed);
    // Written over, so that they stay the server's own.
    const Certificate next = renewed.server();
    const std::string data = server.unix_folder() + "/data/";
    std::ofstream(data + "server.crt") << servers::text_of(next.certificate);
    std::ofstream(data + "server.key") << servers::text_of(next.key);
    std::ofstream(data + "authority.crt") << servers::text_of(renewed.authority());
    server.exec("select pg_reload_conf()");
    while (!connects(options.url)) std::this_thread::yield();
    EXPECT_FALSE(connects(with(old.authority(), old.client("anna"))));
    end_sessions(server);
  });
}

std::string name_of(const ::testing::TestParamInfo<PostgresMode>& mode) {
  return mode.param == PostgresMode::lease ? "lease" : "advisory";
}
INSTANTIATE_TEST_SUITE_P(postgres, PostgresPassword,
                         ::testing::Values(PostgresMode::advisory, PostgresMode::lease), name_of);
INSTANTIATE_TEST_SUITE_P(postgres, PostgresCertificates,
                         ::testing::Values(PostgresMode::advisory, PostgresMode::lease), name_of);

}  // namespace
}  // namespace conclave::conformance
