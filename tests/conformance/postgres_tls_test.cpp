// TLS to a real server: whose certificates are believed, and what is told of the others.
#include "conformance/postgres_refusals.hpp"
#include "servers/certificates.hpp"

namespace conclave::conformance {
namespace {

using servers::Certificate;
using servers::Certificates;
using servers::PostgresServer;

servers::PostgresOptions with_tls(const Certificates& made, const Certificate& shown,
                                  bool clients_required = false) {
  return {.tls = servers::PostgresTls{shown.certificate, shown.key, made.authority(),
                                      clients_required}};
}

PostgresOptions over_tls(const PostgresServer& server, const std::string& authority,
                         const std::optional<Certificate>& own = {}) {
  std::string url = server.url() + "?sslmode=verify-full&sslrootcert=" + authority;
  if (own) url += "&sslcert=" + own->certificate + "&sslkey=" + own->key;
  return options_of(url, PostgresMode::lease);  // in which a new server need not be waited for
}

TEST(PostgresTls, ACertificateOfOursIsBelieved) {
  Certificates made;
  const PostgresServer server(with_tls(made, made.server()));
  expect_elected(over_tls(server, made.authority()));
}

TEST(PostgresTls, OthersAreRefusedWithASentence) {
  Certificates made;
  const struct {
    Certificate shown;
    std::string says;
    std::string fix;
  } table[] = {
      {made.expired_server(), "certificate verify failed", "has expired"},
      {made.strange_server(), "certificate verify failed", "not in sslrootcert"},
      {made.server("DNS:elsewhere.example"), "does not match host name",
       "by a name of its certificate"},
  };
  for (const auto& each : table) {
    const PostgresServer server(with_tls(made, each.shown));
    expect_refused(over_tls(server, made.authority()), {ErrorCode::denied, each.says, each.fix});
    // Whoever says so believes them all the same.
    expect_elected(options_of(server.url() + "?sslmode=require", PostgresMode::lease));
  }
}

TEST(PostgresTls, AnAuthorityThatIsMissingIsTold) {
  Certificates made;
  const PostgresServer server(with_tls(made, made.server()));
  expect_refused(over_tls(server, "/none/authority.pem"),
                 {ErrorCode::denied, "/none/authority.pem", "by sslrootcert"});
}

TEST(PostgresTls, AServerThatWantsACertificateIsShownAGoodOne) {
  Certificates made;
  const PostgresServer server(with_tls(made, made.server(), true));
  expect_elected(over_tls(server, made.authority(), made.client("anna")));
  expect_refused(over_tls(server, made.authority()),
                 {ErrorCode::denied, "wants a certificate of its clients", "sslcert and sslkey"});
  for (const Certificate& each : {made.expired_client("anna"), made.strange_client("anna")}) {
    expect_refused(over_tls(server, made.authority(), each),
                   {ErrorCode::denied, "does not accept our certificate", "check that sslcert"});
  }
}

TEST(PostgresTls, AClientWithoutItIsTold) {
  Certificates made;
  const PostgresServer server(with_tls(made, made.server()));
  expect_refused(options_of(server.url() + "?sslmode=disable"),
                 {ErrorCode::denied, "with this sslmode", "add one"});
}

TEST(PostgresTls, AServerWithoutItIsTold) {
  const PostgresServer server;
  expect_refused(options_of(server.url() + "?sslmode=require"),
                 {ErrorCode::denied, "speaks no TLS", "sslmode"});
}

}  // namespace
}  // namespace conclave::conformance
