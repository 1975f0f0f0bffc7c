// P14: a password or a certificate is replaced on the server under a leader. It is taken at the
// next connection, without a restart, and the term goes on.
#include <filesystem>
#include <fstream>

#include "conformance/redis_person.hpp"
#include "servers/certificates.hpp"

namespace conclave::conformance {
namespace {

using servers::Certificate;
using servers::Certificates;
using servers::RedisServer;
namespace fs = std::filesystem;

// Long enough for new connections, also with TLS on a busy machine.
constexpr std::chrono::seconds long_lease{4};

// A file is replaced at one stroke, as whoever rotates secrets does.
void put(const std::string& path, const std::string& content) {
  std::ofstream(path + ".new") << content;
  fs::rename(path + ".new", path);
}

// The numbers of the connections that are open now; later ones have higher numbers.
std::vector<long> connections_to(const RedisServer& server) {
  std::vector<long> numbers;
  for (const std::string& line : server.lines({"CLIENT", "LIST"})) {
    if (line.find(" name=conclave ") == std::string::npos) continue;
    numbers.push_back(std::stol(line.substr(line.find("id=") + 3)));
  }
  return numbers;
}

void cut_connections(const RedisServer& server) {
  for (const long each : connections_to(server)) {
    server.ask({"CLIENT", "KILL", "ID", std::to_string(each)});
  }
}

// Both come back on new connections, the leader has its term, and hands over.
void expect_kept_through(const RedisServer& server, const RedisOptions& options,
                         const std::function<void(Person&)>& rotate) {
  Person anna(options, "anna");
  ASSERT_TRUE(anna.is_elected());
  Person bob(options, "bob");
  ASSERT_TRUE(bob.next(EventKind::follower));
  const Term term = anna->snapshot().term;
  const auto before = connections_to(server);
  ASSERT_EQ(before.size(), 4U);
  ASSERT_TRUE(anna.next(EventKind::extended));
  rotate(anna);
  const long last = *std::max_element(before.begin(), before.end());
  const auto are_new = [&] {
    const auto now = connections_to(server);
    return now.size() == 4 && *std::min_element(now.begin(), now.end()) > last;
  };
  while (!are_new()) ASSERT_TRUE(anna.next(EventKind::extended));
  ASSERT_TRUE(anna.next(EventKind::extended));
  EXPECT_TRUE(anna->is_leader());
  EXPECT_EQ(anna->snapshot().term, term);
  EXPECT_TRUE(anna->stop());
  EXPECT_TRUE(bob.is_elected());
  EXPECT_GT(bob->snapshot().term, term);
}

class RedisRotation : public ::testing::Test {
 protected:
  [[nodiscard]] RedisOptions with_password_file(const RedisServer& server) const {
    put(file(), "old\n");
    RedisOptions options = options_of(server);
    options.lease = long_lease;
    options.password_file = file();
    return options;
  }
  [[nodiscard]] std::string file() const { return folder_.file("password"); }

 private:
  const servers::TemporaryFolder folder_{"rotation"};
};

TEST_F(RedisRotation, P14_APasswordOfTheServer) {
  const RedisServer server({.password = "old"});
  expect_kept_through(server, with_password_file(server), [&](Person&) {
    put(file(), "new\n");
    server.command({"CONFIG", "SET", "requirepass", "new"});
    cut_connections(server);
  });
}

TEST_F(RedisRotation, P14_APasswordOfAUser) {
  const RedisServer server({.users = {"anna on >old ~conclave:* &conclave:* +@all"}});
  RedisOptions options = with_password_file(server);
  options.user = "anna";
  expect_kept_through(server, options, [&](Person&) {
    put(file(), "new\n");
    server.command({"ACL", "SETUSER", "anna", "<old", ">new"});
    cut_connections(server);
  });
}

// Whoever rotates does both one after the other. Who comes in between is told, and tries again.
TEST_F(RedisRotation, P14_APasswordThatTheServerHasFirst) {
  const RedisServer server({.password = "old"});
  expect_kept_through(server, with_password_file(server), [&](Person& anna) {
    server.command({"CONFIG", "SET", "requirepass", "new"});
    cut_connections(server);
    expect_sentence(anna.error(ErrorCode::denied), "password");
    put(file(), "new\n");
  });
}

// The server shows another certificate, of another authority, and believes only what that signed.
TEST_F(RedisRotation, P14_CertificatesOfBothSides) {
  Certificates old;
  Certificates renewed;
  const Certificate shown = old.server();
  const RedisServer server({.tls = servers::RedisTls{shown.certificate, shown.key, old.authority(),
                                                     servers::RedisTls::Clients::required}});
  const servers::TemporaryFolder folder("client");
  RedisOptions options = options_of(server);
  options.lease = long_lease;
  options.tls = RedisTls{.ca_file = folder.file("authority"),
                         .certificate_file = folder.file("certificate"),
                         .key_file = folder.file("key")};
  const auto use = [&](Certificates& made) {
    const Certificate ours = made.client("anna");
    put(options.tls->ca_file, servers::text_of(made.authority()));
    put(options.tls->key_file, servers::text_of(ours.key));
    put(options.tls->certificate_file, servers::text_of(ours.certificate));
  };
  use(old);
  expect_kept_through(server, options, [&](Person&) {
    use(renewed);
    const Certificate next = renewed.server();
    server.command({"CONFIG", "SET", "tls-cert-file", next.certificate, "tls-key-file", next.key,
                    "tls-ca-cert-file", renewed.authority()});
    cut_connections(server);
  });
}

}  // namespace
}  // namespace conclave::conformance
