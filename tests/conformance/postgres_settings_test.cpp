// What options and URLs mean, what is refused, and that no error repeats a password.
#include "stores/postgres/settings.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "servers/temporary_folder.hpp"
#include "stores/postgres/hosts.hpp"
#include "stores/postgres/trouble.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;
using postgres::settings_of;

PostgresOptions with_url(const std::string& url) {
  PostgresOptions options;
  options.url = url;
  return options;
}

postgres::Settings settings(const PostgresOptions& options) {
  const auto result = settings_of(options);
  EXPECT_TRUE(result) << options.url << ": " << result.error().message;
  return result ? *result : postgres::Settings{};
}

postgres::Settings settings(const std::string& url) { return settings(with_url(url)); }

std::string refusal(const PostgresOptions& options) {
  const auto result = settings_of(options);
  if (result) return "nothing: it was taken";
  EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
  EXPECT_FALSE(result.error().retryable);
  return result.error().message;
}

std::string refusal(const std::string& url) { return refusal(with_url(url)); }

void expect_within(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nhas no: " << part;
}

TEST(PostgresSettings, OurOptionsStandInAUrlOnly) {
  const std::string told = refusal("host=127.0.0.1 password=geheim mode=lease");
  expect_within(told, "mode is no keyword of libpq");
  expect_within(told, "?mode=");
  EXPECT_EQ(told.find("geheim"), std::string::npos) << told;
}

TEST(PostgresSettings, AUrlIsWhatLibpqMakesOfIt) {
  const auto made = settings(
      "postgres://anna:a%40b@db.example:5433/shop?sslmode=verify-full&sslrootcert=/ca.pem");
  EXPECT_EQ(made.keyword("host"), "db.example");
  EXPECT_EQ(made.keyword("port"), "5433");
  EXPECT_EQ(made.keyword("user"), "anna");
  EXPECT_EQ(made.keyword("dbname"), "shop");
  EXPECT_EQ(made.keyword("sslmode"), "verify-full");
  EXPECT_EQ(made.keyword("sslrootcert"), "/ca.pem");
  EXPECT_EQ(made.keyword("password"), "") << "it is kept apart";
  EXPECT_EQ(made.password, "a@b");
  EXPECT_EQ(made.where, "the PostgreSQL server at db.example:5433/shop");
  EXPECT_FALSE(made.is_near);
}

TEST(PostgresSettings, AStringOfLibpqDoesToo) {
  const auto made =
      settings("host='127.0.0.1' port=5433 user=anna password='my secret' dbname=shop");
  EXPECT_EQ(made.keyword("port"), "5433");
  EXPECT_EQ(made.password, "my secret");
  EXPECT_TRUE(made.is_near);
  EXPECT_EQ(made.where, "the PostgreSQL server at 127.0.0.1:5433/shop");
}

TEST(PostgresSettings, OurOptionsAreTakenOutOfTheUrl) {
  const auto made = settings(
      "postgresql://h/d?mode=lease&sslmode=require&create=false&schema=my%20own&lease=5s"
      "&request_timeout=200ms&password_file=/run/secret");
  EXPECT_EQ(made.mode, PostgresMode::lease);
  EXPECT_FALSE(made.strict);
  EXPECT_FALSE(made.create);
  EXPECT_EQ(made.schema, "my own");
  EXPECT_EQ(made.prefix, "conclave");
  EXPECT_EQ(made.lease, 5s);
  EXPECT_EQ(made.request_timeout, 200ms);
  EXPECT_EQ(made.password_file, "/run/secret");
  EXPECT_EQ(made.keyword("sslmode"), "require");
  EXPECT_EQ(postgres::connect_limit(made), 1s);
  EXPECT_TRUE(settings("postgres://h/d?strict=true").strict);
  EXPECT_EQ(settings("postgres:?mode=lease").mode, PostgresMode::lease);
  EXPECT_EQ(settings("postgres:").mode, PostgresMode::advisory);
}

TEST(PostgresSettings, WhatNobodySetFitsTheLease) {
  const auto made = settings("postgres://h/d");
  EXPECT_EQ(made.lease, 3s);
  EXPECT_EQ(made.request_timeout, 375ms);
  EXPECT_EQ(postgres::connect_limit(made), 1500ms);
  EXPECT_EQ(made.keyword("application_name"), "conclave");
  EXPECT_EQ(made.keyword("gssencmode"), "disable");
  EXPECT_EQ(made.keyword("client_encoding"), "UTF8");
  EXPECT_EQ(made.keyword("keepalives_idle"), "1");
  EXPECT_EQ(made.keyword("keepalives_interval"), "1");
  EXPECT_EQ(made.keyword("keepalives_count"), "4");
  EXPECT_EQ(made.keyword("tcp_user_timeout"), "3000");
  EXPECT_NE(made.keyword("target_session_attrs"), "read-write");
  const auto own = settings(
      "postgres://h/"
      "d?application_name=x&keepalives_idle=9&tcp_user_timeout=7&client_encoding=LATIN1"
      "&channel_binding=require");
  EXPECT_EQ(own.keyword("application_name"), "x");
  EXPECT_EQ(own.keyword("keepalives_idle"), "9");
  EXPECT_EQ(own.keyword("tcp_user_timeout"), "7");
  EXPECT_EQ(own.keyword("channel_binding"), "require");
  EXPECT_EQ(own.keyword("client_encoding"), "UTF8");
}

TEST(PostgresSettings, SeveralHosts) {
  const auto made = settings("postgres://a:1,b:2,[::1]:3/d");
  EXPECT_EQ(made.where, "the PostgreSQL server at a:1,b:2,[::1]:3/d");
  EXPECT_EQ(made.keyword("target_session_attrs"), "read-write");
  EXPECT_EQ(
      settings("postgres://a,b/d?target_session_attrs=primary").keyword("target_session_attrs"),
      "primary");
  using postgres::Target;
  EXPECT_EQ(postgres::targets_in({{"host", "a,,/tmp"}, {"port", "7"}}),
            (std::vector<Target>{{"a", "", "7"}, {"", "", "7"}, {"/tmp", "", "7"}}));
  EXPECT_EQ(postgres::targets_in({{"hostaddr", "1.1.1.1,::1"}, {"port", "7,8"}}),
            (std::vector<Target>{{"", "1.1.1.1", "7"}, {"", "::1", "8"}}));
  EXPECT_TRUE(settings("postgres:///d?host=/tmp").is_near);
  EXPECT_TRUE(settings("postgres://%2Ftmp/d").is_near);
  EXPECT_FALSE(settings("postgres://127.0.0.1,db.example/d").is_near);
}

TEST(PostgresSettings, TheEnvironmentAndAServiceFile) {
  const servers::TemporaryFolder folder("service");
  std::ofstream(folder.file("services")) << "[shop]\nhost=db.shop\nport=6000\ndbname=orders\n";
  ::setenv("PGSERVICEFILE", folder.file("services").c_str(), 1);
  ::setenv("PGHOST", "db.environment", 1);
  ::setenv("PGAPPNAME", "billing", 1);
  const auto from_environment = settings("postgres:///x");
  const auto from_service = settings("service=shop");
  const auto no_service = refusal("service=nowhere");
  for (const char* each : {"PGSERVICEFILE", "PGHOST", "PGAPPNAME"}) ::unsetenv(each);
  EXPECT_EQ(from_environment.where, "the PostgreSQL server at db.environment:5432/x");
  EXPECT_EQ(from_environment.keyword("application_name"), "billing");
  EXPECT_EQ(from_service.where, "the PostgreSQL server at db.shop:6000/orders");
  expect_within(no_service, "service: ");
}

TEST(PostgresSettings, WhatIsRefusedIsASentenceWithTheFix) {
  expect_within(refusal("postgres://h/d?mode=row"), "mode: it is neither advisory nor lease");
  expect_within(refusal("postgres://h/d?strict=1"), "strict: it is neither true nor false");
  expect_within(refusal("postgres://h/d?mode=lease&strict=true"), "strict: ");
  expect_within(refusal("postgres://h/d?lease=3"), "lease");
  expect_within(refusal("postgres://h/d?lease=1ms"), "lease");
  expect_within(refusal("postgres://h/d?request_timeout=2s"), "request_timeout: it is longer");
  expect_within(refusal("postgres://h/d?schema=" + std::string(64, 'x')), "schema: ");
  expect_within(refusal("postgres://h/d?schema=a%0Adrop"),
                "schema: its name contains a control character");
  expect_within(refusal("postgres://h/d?slmode=require"), "the option slmode is not known");
  expect_within(refusal("postgres://h/d?mode=lease&mode=lease"), "mode is given twice");
  expect_within(refusal("postgres://h/d?sslmode"), "sslmode has no value");
  expect_within(refusal("postgres://h/d?options=a=b"), "write %3D");
  expect_within(refusal("postgres:h/d"), "two / are missing");
  expect_within(refusal("mysql://h/d"), "does not begin with postgres:");
  expect_within(refusal("host=a,b,c port=1,2"), "hosts, hostaddrs and ports differ");
  expect_within(refusal("postgres://[::1/d"), "the [ of a host");
  expect_within(refusal("postgres://h:0/d"), "a port is not a number");
  PostgresOptions twice = with_url("postgres://a:one@h/d");
  twice.password = "two";
  expect_within(refusal(twice), "password: it is in the URL and in the options");
  twice = with_url("postgres://h/d?password_file=/x");
  twice.password = "two";
  expect_within(refusal(twice), "password: it is given twice");
}

// Whatever is wrong with it, and wherever a piece of the password ends up.
TEST(PostgresSettings, NoErrorRepeatsAPieceOfThePassword) {
  for (const std::string url : {
           "postgres://anna:pa@secret@h/d",
           "postgres://anna:pa/secret@h/d",
           "postgres://anna:pa?secret@h/d",
           "postgres://anna:secret",
           "postgres://anna:%zzsecret@h/d",
           "postgres://anna:secret%@h/d",
           "postgres://anna:secret@h:secret/d",
           "postgres://h/d?password=pa&secret",
           "postgres://h/d?password=pa&secret=1",
           "postgres://h/d?password=secret%",
           "postgres://h/d?password=a=secret",
           "postgres://h/d?password=a&sslmode=secret=",
           "postgres://h/d?sslpassword=a=secret",
           "postgres://h/d?sslpassword=a&secret=1",
           "password=my secret host=h",
           "host=h password='secret",
           "host=h pasword=secret",
           "secret",
           "postgres:secret",
           "postgres://anna:sec%00ret@h/d",
           "postgres://[secret",
           "anna:secret@h",
           "host=h password=secret port=a,b,c",
           "http://anna:secret@h/d",
       }) {
    EXPECT_EQ(refusal(url).find("secret"), std::string::npos) << refusal(url);
    EXPECT_EQ(refusal(url).find('\n'), std::string::npos);
    EXPECT_NE(refusal(url), "nothing: it was taken") << url;
  }
  EXPECT_EQ(settings("postgres://secret@h").where, "the PostgreSQL server at h:5432");
}

TEST(PostgresSettings, APasswordFileHasToBeReadable) {
  const servers::TemporaryFolder folder("passwords");
  auto made = settings("postgres://h/d?password_file=" + folder.file("password"));
  const auto missing = postgres::credentials_of(made);
  ASSERT_FALSE(missing);
  expect_within(missing.error().message, "password_file: " + folder.file("password"));
  EXPECT_TRUE(missing.error().retryable);
  std::ofstream(folder.file("password")) << "\n";
  EXPECT_FALSE(postgres::credentials_of(made));
  std::ofstream(folder.file("password")) << "a b\r\n";
  const auto read = postgres::credentials_of(made);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->password, "a b");
}

TEST(PostgresTrouble, SaysWhatToDo) {
  const auto says = [](const std::string& state, const std::string& message) {
    return postgres::trouble_of(state, message, "S");
  };
  EXPECT_EQ(says("42501", "permission denied for table conclave_elections").message,
            "S forbids this user what an election needs (permission denied for table "
            "conclave_elections): GRANT SELECT, INSERT, UPDATE, DELETE ON TABLE conclave_elections "
            "TO its role");
  expect_within(says("42501", "permission denied for schema x").message, "ON SCHEMA x TO");
  postgres::Place own("S");
  own.schema = "\"own\"";
  own.tables = "\"own\".t, \"own\".u";
  own.create = false;
  expect_within(postgres::trouble_of("42501", "permission denied for table t", own).message,
                "ON TABLE \"own\".t, \"own\".u TO its role");
  EXPECT_TRUE(postgres::trouble_of("42501", "permission denied for schema own", own)
                  .message.ends_with("GRANT USAGE ON SCHEMA \"own\" TO its role"));
  EXPECT_EQ(says("42501", "").code, ErrorCode::denied);
  EXPECT_FALSE(says("28P01", "").retryable);
  expect_within(says("25006", "").message, "connect to the primary");
  for (const char* each : {"40001", "40P01", "55P03", "57014", "53300", "57P03"}) {
    EXPECT_TRUE(says(each, "").retryable) << each;
    EXPECT_FALSE(says(each, "").in_doubt) << each;
  }
  for (const char* each : {"57P01", "57P02", "57P05", "08006", "40003"}) {
    EXPECT_TRUE(says(each, "").in_doubt) << each;
  }
  EXPECT_EQ(says("99999", "one\n\ttwo").message, "S refused the request (99999): one two");
  EXPECT_FALSE(says("42P01", "").retryable);
  EXPECT_FALSE(says("42703", "").retryable);
}

TEST(PostgresTrouble, SaysThatAPoolerHasNoServer) {
  const std::string text =
      "FATAL:  08P01: server login has been failing, try again later (server_login_retry)\n";
  for (const Error& each : {postgres::broken(text, "S"), postgres::connect_trouble(text, {"S"})}) {
    expect_within(each.message, "S is a pooler that does not reach its server");
    expect_within(each.message, "see whether that server runs");
    EXPECT_TRUE(each.retryable);
    EXPECT_FALSE(each.in_doubt);
  }
  EXPECT_EQ(postgres::broken("terminating\nmore", "S").message,
            "the connection to S broke: terminating");
}

// A pooler has one state for all that it refuses, and older ones for what the server refuses, too.
TEST(PostgresTrouble, KnowsWhatAPoolerMeans) {
  const auto code = [](const std::string& message) {
    const Error error = postgres::connect_trouble("FATAL:  08P01: " + message + "\n", {"S"});
    EXPECT_EQ(error.retryable, error.code == ErrorCode::unavailable) << message;
    EXPECT_EQ(error.message.find("geheim"), std::string::npos) << error.message;
    return error.code;
  };
  for (const char* each :
       {"password authentication failed", "SASL authentication failed", "no such user",
        "no such user: geheim", "\"trust\" authentication failed", "auth failed",
        "role \"geheim\" does not exist", "server login failed: wrong password type",
        "password authentication failed for user \"geheim\"",
        "no pg_hba.conf entry for host \"::1\", user \"geheim\", database \"d\""}) {
    EXPECT_EQ(code(each), ErrorCode::denied) << each;
  }
  for (const char* each : {"no such database: d", "database \"d\" does not exist"}) {
    EXPECT_EQ(code(each), ErrorCode::invalid_argument) << each;
  }
  for (const char* each :
       {"server login has been failing, try again later (server_login_retry)",
        "no more connections allowed (max_client_conn)", "pgbouncer cannot connect to server",
        "client_login_timeout (server down)", "server conn crashed?"}) {
    EXPECT_EQ(code(each), ErrorCode::unavailable) << each;
  }
}

TEST(PostgresTrouble, SpeaksOfTlsWhereAFileOfItIsMissing) {
  const std::string missing = "failed: No such file or directory\n";
  const auto of_socket =
      postgres::connect_trouble("connection to server on socket \"/x/.s\" " + missing, {"S"});
  expect_within(of_socket.message, "there is no such socket");
  EXPECT_EQ(of_socket.message.find("TLS"), std::string::npos) << of_socket.message;
  EXPECT_EQ(of_socket.message.find("ssl"), std::string::npos) << of_socket.message;
  const auto of_file = postgres::connect_trouble(
      "connection to server at \"h\" (127.0.0.1), port 1 failed: could not read certificate file "
      "\"/x/c\": No such file or directory\n",
      {"S"});
  expect_within(of_file.message, "/x/c");
  expect_within(of_file.message, "sslcert");
}

}  // namespace
}  // namespace conclave::conformance
