// Streams with TLS, to a server by OpenSSL.
#include <gtest/gtest.h>

#include "net/probe.hpp"
#include "net/tls_server.hpp"

namespace conclave::net {
namespace {

class TlsStreams : public ::testing::Test {
 protected:
  Certificates certificates;
  Certificate authority = certificates.authority("authority");
  Certificate server = certificates.issue(authority, "server", "DNS:localhost,IP:127.0.0.1");

  [[nodiscard]] TlsOptions trusting() const { return {.ca_file = authority.file}; }

  static void expect_echo(Probe& probe, const std::string& text = "hello") {
    ASSERT_TRUE(probe.connects()) << probe.fails().message;
    probe.write(text);
    EXPECT_EQ(probe.receives(text.size()), text);
  }

  // A certificate that the client refuses: not connected, not retryable, and told to the server.
  void expect_distrust(const Certificate& shown, const TlsOptions& options,
                       const std::vector<std::string>& words) {
    TlsServer refused({.certificate = shown});
    Probe probe(refused.endpoint(options));
    const Error error = probe.fails();
    EXPECT_TRUE(says(error, words));
    EXPECT_TRUE(says(error, {"TLS to " + to_string(refused.endpoint()) + " failed: "}));
    EXPECT_EQ(error.code, ErrorCode::denied);
    EXPECT_FALSE(error.retryable);
    EXPECT_EQ(probe.connected(), 0);
    EXPECT_FALSE(refused.visit(0).accepted);
  }
};

class TlsVersions : public TlsStreams, public ::testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(All, TlsVersions, ::testing::Values(TLS1_2_VERSION, TLS1_3_VERSION),
                         [](const auto& version) {
                           return version.param == TLS1_2_VERSION ? "Tls12" : "Tls13";
                         });

// ---------------------------------------------------------------- bytes

TEST_P(TlsVersions, CarryBytesBothWays) {
  TlsServer there({.certificate = server, .newest = GetParam()});
  Probe probe(there.endpoint(trusting()));
  expect_echo(probe);
  probe.destroy();
  EXPECT_FALSE(probe.has_failed());
  const auto visit = there.visit(0);
  EXPECT_TRUE(visit.accepted);
  EXPECT_TRUE(visit.goodbye);
  EXPECT_EQ(visit.asked_for, "") << "an address is no name";
}

TEST_P(TlsVersions, CarryALotBothWays) {
  TlsServer there({.certificate = server, .newest = GetParam()});
  Probe probe(there.endpoint(trusting()));
  expect_echo(probe, long_text(4U << 20U));
}

TEST_F(TlsStreams, KeepWhatIsWrittenBeforeThereIsAConnection) {
  TlsServer there({.certificate = server});
  Probe probe(there.endpoint(trusting()));
  probe.write("one ");
  probe.write("two");
  EXPECT_EQ(probe.receives(7), "one two");
}

TEST_P(TlsVersions, SayThatTheServerClosedThem) {
  TlsServer there({.certificate = server, .newest = GetParam()});
  for (const std::string word : {"leave", "slam"}) {
    Probe probe(there.endpoint(trusting()));
    expect_echo(probe);
    probe.write(word);
    const Error error = probe.fails();
    EXPECT_EQ(error.message,
              "the connection to " + to_string(there.endpoint()) + " was closed by the server");
    EXPECT_TRUE(error.retryable);
  }
}

TEST_F(TlsStreams, MayBeDestroyedInTheirHandlers) {
  TlsServer there({.certificate = server});
  for (const bool when_connected : {true, false}) {
    Probe probe(there.endpoint(trusting()));
    std::promise<void> destroyed;
    probe.on_loop([&] {
      (when_connected ? probe.when_connected : probe.when_received) = [&] {
        probe.owner().reset();
        destroyed.set_value();
      };
      probe.stream().write(long_text(40000));
    });
    EXPECT_TRUE(comes(destroyed.get_future()));
    settle(probe.loop());
    EXPECT_FALSE(probe.has_failed());
  }
}

TEST_F(TlsStreams, MayBeDestroyedWhenTheyFail) {
  TlsServer there({.certificate = server});
  Probe probe(there.endpoint());
  probe.on_loop([&] { probe.when_failed = [&] { probe.owner().reset(); }; });
  EXPECT_EQ(probe.fails().code, ErrorCode::denied);
  settle(probe.loop());
}

// ---------------------------------------------------------------- who the server is

TEST_F(TlsStreams, AskForTheNameOfTheServer) {
  TlsServer there({.certificate = server});
  auto endpoint = there.endpoint(trusting());
  endpoint.host = "localhost";
  Probe by_host(endpoint);
  expect_echo(by_host);
  by_host.destroy();
  EXPECT_EQ(there.visit(0).asked_for, "localhost");
  endpoint.host = "127.0.0.1";
  endpoint.tls->server_name = "localhost.";
  Probe by_option(endpoint);
  expect_echo(by_option);
  by_option.destroy();
  EXPECT_EQ(there.visit(1).asked_for, "localhost");
}

TEST_F(TlsStreams, GoThroughAUnixSocket) {
  TlsServer there({.certificate = server, .unix_path = certificates.path("socket")});
  auto options = trusting();
  Probe nameless(there.endpoint(options));
  EXPECT_TRUE(says(nameless.fails(), {"set server_name"}));
  options.server_name = "localhost";
  Probe probe(there.endpoint(options));
  expect_echo(probe);
}

TEST_F(TlsStreams, RefuseAnExpiredCertificate) {
  const auto old = certificates.issue(authority, "old", "IP:127.0.0.1", -1);
  expect_distrust(old, trusting(), {"has expired", "renew it"});
}

TEST_F(TlsStreams, RefuseACertificateForAnotherName) {
  const auto other = certificates.issue(authority, "other", "DNS:other.example,IP:127.0.0.2");
  expect_distrust(other, trusting(), {"is not for 127.0.0.1", "server_name"});
  auto options = trusting();
  options.server_name = "redis.example";
  expect_distrust(other, options, {"is not for redis.example", "server_name"});
}

TEST_F(TlsStreams, RefuseACertificateOfAnUnknownAuthority) {
  const auto stranger = certificates.authority("stranger");
  expect_distrust(server, {.ca_file = stranger.file}, {"nobody in " + stranger.file, "ca_file"});
  expect_distrust(server, {}, {"the authorities that this system trusts", "set ca_file"});
  expect_distrust(stranger, trusting(), {"nobody in " + authority.file});
}

TEST_F(TlsStreams, BelieveAnybodyWhenToldSo) {
  const auto old = certificates.issue(authority, "old", "DNS:other.example", -1);
  TlsServer there({.certificate = old});
  Probe probe(there.endpoint({.skip_verify = true}));
  expect_echo(probe);
}

// ---------------------------------------------------------------- who the client is

TEST_P(TlsVersions, SayThatAClientCertificateIsWanted) {
  TlsServer there(
      {.certificate = server, .client_authority = authority.file, .newest = GetParam()});
  Probe probe(there.endpoint(trusting()));
  // With TLS 1.3 the client is connected before the server has looked. Then what it writes may
  // meet a closed connection; the sentence is the same.
  probe.write("hello");
  const Error error = probe.fails();
  EXPECT_TRUE(says(error, {"client certificate", "set certificate_file and key_file"}));
  EXPECT_EQ(error.code, ErrorCode::denied);
  EXPECT_FALSE(error.retryable);
  EXPECT_FALSE(there.visit(0).accepted);
}

TEST_P(TlsVersions, ShowTheirCertificate) {
  const auto client = certificates.issue(authority, "client", "DNS:client.example");
  TlsServer there(
      {.certificate = server, .client_authority = authority.file, .newest = GetParam()});
  auto options = trusting();
  options.certificate_file = client.file;
  options.key_file = client.key;
  Probe probe(there.endpoint(options));
  expect_echo(probe);
}

TEST_P(TlsVersions, SayThatTheirCertificateIsRefused) {
  const auto stranger = certificates.authority("stranger");
  const auto client = certificates.issue(stranger, "client", "DNS:client.example");
  TlsServer there(
      {.certificate = server, .client_authority = authority.file, .newest = GetParam()});
  auto options = trusting();
  options.certificate_file = client.file;
  options.key_file = client.key;
  Probe probe(there.endpoint(options));
  EXPECT_TRUE(says(probe.fails(), {"client certificate in " + client.file, "refuse"}));
}

// ---------------------------------------------------------------- renewal

TEST_F(TlsStreams, TakeARenewedAuthority) {
  const auto old_authority = certificates.authority("old_authority");
  const auto used = certificates.path("used.pem");
  Certificates::replace(used, old_authority.file);
  TlsServer there({.certificate = server});
  Probe before(there.endpoint({.ca_file = used}));
  EXPECT_EQ(before.fails().code, ErrorCode::denied);
  Certificates::replace(used, authority.file);
  Probe after(there.endpoint({.ca_file = used}));
  expect_echo(after);
}

TEST_F(TlsStreams, TakeARenewedClientCertificate) {
  const auto used = certificates.issue(authority, "used", "DNS:client.example", -1);
  const auto renewed = certificates.issue(authority, "renewed", "DNS:client.example");
  TlsServer there({.certificate = server, .client_authority = authority.file});
  auto options = trusting();
  options.certificate_file = used.file;
  options.key_file = used.key;
  Probe before(there.endpoint(options));
  EXPECT_TRUE(says(before.fails(), {"client certificate in " + used.file}));
  Certificates::replace(used.file, renewed.file);
  Certificates::replace(used.key, renewed.key);
  Probe after(there.endpoint(options));
  expect_echo(after);
}

// ---------------------------------------------------------------- servers that do not fit

TEST_F(TlsStreams, SayThatTheServerDoesNotSpeakTls) {
  Listener listener;
  auto endpoint = listener.listen().endpoint();
  endpoint.tls = trusting();
  Probe answered(endpoint);
  Peer peer = listener.accept();
  EXPECT_FALSE(peer.read_once().empty());
  peer.write("-ERR unknown command\r\n");
  EXPECT_TRUE(says(answered.fails(), {"does not speak TLS there", "correct the port"}));
  EXPECT_EQ(answered.fails().code, ErrorCode::unsupported);
  EXPECT_FALSE(answered.fails().retryable);
  Probe closed(endpoint);
  listener.accept().close();
  EXPECT_TRUE(says(closed.fails(), {"closed the connection during the handshake", "TLS"}));
  EXPECT_TRUE(closed.fails().retryable);
}

TEST_F(TlsStreams, SayThatTheServersTlsIsTooOld) {
  TlsServer there({.certificate = server, .oldest = TLS1_VERSION, .newest = TLS1_1_VERSION});
  Probe probe(there.endpoint(trusting()));
  EXPECT_TRUE(says(probe.fails(), {"does not speak TLS 1.2 or newer"}));
  EXPECT_EQ(probe.fails().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace conclave::net
