// TLS to a real server: whose certificates are believed, and what is told of the others.
#include <filesystem>

#include "conformance/redis_person.hpp"
#include "fault/tcp_gate.hpp"
#include "servers/certificates.hpp"

namespace conclave::conformance {
namespace {

using servers::Certificate;
using servers::Certificates;
using servers::RedisServer;
namespace fs = std::filesystem;

servers::RedisOptions with_tls(
    const Certificates& made, const Certificate& shown,
    servers::RedisTls::Clients clients = servers::RedisTls::Clients::without) {
  return {.tls = servers::RedisTls{shown.certificate, shown.key, made.authority(), clients}};
}

RedisOptions over_tls(const RedisServer& server, const Certificates& made) {
  RedisOptions options = options_of(server);
  options.tls = RedisTls{.ca_file = made.authority()};
  return options;
}

// The handshake takes its time on a busy machine.
Error error_of(RedisOptions options, ErrorCode code) {
  options.lease = std::chrono::seconds{8};
  Person anna(std::move(options));
  return anna.error(code);
}

TEST(RedisTls, ACertificateOfOursIsBelieved) {
  Certificates made;
  const RedisServer server(with_tls(made, made.server()));
  Person anna(over_tls(server, made));
  EXPECT_TRUE(anna.is_elected());
}

TEST(RedisTls, OthersAreRefusedWithASentence) {
  Certificates made;
  const struct {
    Certificate shown;
    std::string says;
  } table[] = {
      {made.expired_server(), "expired"},
      {made.strange_server(), "ca_file"},
      {made.server("DNS:elsewhere.example"), "server_name"},
  };
  for (const auto& each : table) {
    SCOPED_TRACE(each.says);
    const RedisServer server(with_tls(made, each.shown));
    const Error error = error_of(over_tls(server, made), ErrorCode::denied);
    EXPECT_FALSE(error.retryable);
    expect_sentence(error, each.says);
    // Whoever says so believes them all the same.
    RedisOptions careless = options_of(server);
    careless.tls = RedisTls{.skip_verify = true};
    Person bob(careless);
    EXPECT_TRUE(bob.is_elected());
  }
}

TEST(RedisTls, TheNameMayBeGiven) {
  Certificates made;
  const RedisServer server(with_tls(made, made.server("DNS:elsewhere.example")));
  RedisOptions options = over_tls(server, made);
  options.tls->server_name = "elsewhere.example";
  Person anna(options);
  EXPECT_TRUE(anna.is_elected());
}

TEST(RedisTls, AServerThatWantsACertificateGetsOneAndARenewedOneAtTheNextConnection) {
  Certificates made;
  const RedisServer server(with_tls(made, made.server(), servers::RedisTls::Clients::required));
  const servers::TemporaryFolder folder("client");
  const auto put = [&](const Certificate& certificate) {
    fs::copy_file(certificate.certificate, folder.file("certificate.new"));
    fs::copy_file(certificate.key, folder.file("key.new"));
    fs::rename(folder.file("key.new"), folder.file("key"));
    fs::rename(folder.file("certificate.new"), folder.file("certificate"));
  };
  put(made.strange_client("anna"));
  RedisOptions options = over_tls(server, made);
  options.tls->certificate_file = folder.file("certificate");
  options.tls->key_file = folder.file("key");
  Person anna(options);
  ASSERT_TRUE(anna.next(EventKind::error));
  EXPECT_FALSE(anna->is_leader());
  put(made.client("anna"));
  EXPECT_TRUE(anna.is_elected());
}

TEST(RedisTls, WhoShowsNoCertificateIsToldThatOneIsWanted) {
  Certificates made;
  const RedisServer server(with_tls(made, made.server(), servers::RedisTls::Clients::required));
  Person anna(over_tls(server, made));
  expect_sentence(anna.error("certificate"), "certificate");
}

TEST(RedisTls, FilesThatAreMissingAreTold) {
  Certificates made;
  const RedisServer server(with_tls(made, made.server()));
  RedisOptions options = over_tls(server, made);
  options.tls->ca_file = "/none/ca.pem";
  Person anna(options);
  expect_sentence(anna.error("/none/ca.pem"), "/none/ca.pem");
}

TEST(RedisTls, APlainClientOfATlsServerIsToldToUseTls) {
  Certificates made;
  const RedisServer server(with_tls(made, made.server()));
  Person anna(options_of(server));
  const Error error = anna.error("TLS");
  EXPECT_TRUE(error.retryable);
  expect_sentence(error, "perhaps it wants TLS (rediss:)");
}

TEST(RedisTls, ATlsClientOfAPlainServerIsTold) {
  const Certificates made;
  const RedisServer server;
  Person anna(over_tls(server, made));
  expect_sentence(anna.error("TLS"), "(redis: goes without)");
}

}  // namespace
}  // namespace conclave::conformance
