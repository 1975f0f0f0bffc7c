// What TLS says of files that do not fit.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/certificates.hpp"
#include "net/probe.hpp"
#include "net/tls.hpp"

namespace conclave::net {
namespace {

class TlsFiles : public ::testing::Test {
 protected:
  Certificates certificates;
  Certificate authority = certificates.authority("authority");
  Certificate client = certificates.issue(authority, "client", "DNS:client.example");

  static Result<Tls> make(TlsOptions options) {
    return Tls::make({.host = "redis.example", .port = 6380, .tls = std::move(options)});
  }

  static void expect_refusal(TlsOptions options, const std::vector<std::string>& words) {
    const auto made = make(std::move(options));
    ASSERT_FALSE(made.has_value());
    EXPECT_TRUE(says(made.error(), {"TLS to redis.example:6380 cannot begin: "}));
    EXPECT_TRUE(says(made.error(), words));
    EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
    EXPECT_FALSE(made.error().retryable);
  }
};

TEST_F(TlsFiles, AreTakenWhenTheyFit) {
  EXPECT_TRUE(make({}).has_value());
  EXPECT_TRUE(
      make({.ca_file = authority.file, .certificate_file = client.file, .key_file = client.key})
          .has_value());
}

TEST_F(TlsFiles, AreNamedWhenMissing) {
  const auto none = certificates.path("none");
  expect_refusal({.ca_file = none}, {"the ca_file " + none, "No such file"});
  expect_refusal({.certificate_file = none, .key_file = client.key},
                 {"the certificate_file " + none, "No such file"});
  expect_refusal({.certificate_file = client.file, .key_file = none},
                 {"the key_file " + none, "No such file"});
}

TEST_F(TlsFiles, AreNamedWhenUnreadable) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  ASSERT_EQ(::chmod(client.key.c_str(), 0), 0);
  expect_refusal({.certificate_file = client.file, .key_file = client.key},
                 {"the key_file " + client.key, "Permission denied"});
}

TEST_F(TlsFiles, AreNamedWhenTheyHoldSomethingElse) {
  const auto text = certificates.write("text", "good morning\n");
  const auto folder = certificates.path("");
  expect_refusal({.ca_file = text}, {"the ca_file " + text, "no certificates"});
  expect_refusal({.ca_file = folder}, {"the ca_file " + folder});
  expect_refusal({.certificate_file = text, .key_file = client.key},
                 {"the certificate_file " + text, "no usable certificate"});
  expect_refusal({.certificate_file = client.file, .key_file = text},
                 {"the key_file " + text, "no private key"});
}

TEST_F(TlsFiles, AreNamedWhenTheKeyIsOfAnotherCertificate) {
  expect_refusal({.certificate_file = client.file, .key_file = authority.key},
                 {"the key_file " + authority.key, "does not belong to", client.file});
}

// Nobody is asked for the password at the terminal.
TEST_F(TlsFiles, AreNamedWhenTheKeyIsEncrypted) {
  const auto encrypted = certificates.path("encrypted.key");
  certificates.run("pkey -in " + client.key + " -aes128 -passout pass:secret -out " + encrypted);
  expect_refusal({.certificate_file = client.file, .key_file = encrypted},
                 {"the key_file " + encrypted, "without a password"});
}

TEST_F(TlsFiles, OfACertificateGoTogether) {
  expect_refusal({.certificate_file = client.file}, {"key_file is not"});
  expect_refusal({.key_file = client.key}, {"certificate_file is not"});
}

TEST_F(TlsFiles, ThatFailDoNotLeadToAConnection) {
  Probe probe({.host = "conclave.invalid",
               .port = 1,
               .tls = TlsOptions{.ca_file = certificates.path("none")}});
  EXPECT_TRUE(says(probe.fails(), {"cannot begin"}));
}

}  // namespace
}  // namespace conclave::net
