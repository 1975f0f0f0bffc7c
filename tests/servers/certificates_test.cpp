#include "servers/certificates.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "servers/process.hpp"

namespace conclave::servers {
namespace {

class CertificatesTest : public testing::Test {
 protected:
  // What `openssl verify` says; nothing when it is content.
  std::string complaint(const Certificate& certificate, const std::string& authority,
                        const std::string& purpose) {
    const auto output = folder_.file(std::to_string(++runs_));
    try {
      run({{CONCLAVE_OPENSSL, "verify", "-CAfile", authority, "-purpose", purpose,
            certificate.certificate},
           {},
           output});
      return {};
    } catch (const std::runtime_error& failure) {
      return failure.what();
    }
  }

  TemporaryFolder folder_{"certificates-test"};
  int runs_ = 0;
  Certificates certificates_;
};

TEST_F(CertificatesTest, AreGoodForTheirPurpose) {
  const auto server = certificates_.server();
  const auto client = certificates_.client("anna");
  EXPECT_EQ(complaint(server, certificates_.authority(), "sslserver"), "");
  EXPECT_EQ(complaint(client, certificates_.authority(), "sslclient"), "");
  EXPECT_NE(complaint(client, certificates_.authority(), "sslserver"), "");
}

TEST_F(CertificatesTest, CarryTheNamesThatWereAskedFor) {
  const auto server = certificates_.server("DNS:redis.example,IP:127.0.0.9");
  run({{CONCLAVE_OPENSSL, "x509", "-noout", "-text", "-in", server.certificate},
       {},
       folder_.file("text")});
  const auto text = text_of(folder_.file("text"));
  EXPECT_NE(text.find("DNS:redis.example, IP Address:127.0.0.9"), std::string::npos) << text;
}

TEST_F(CertificatesTest, ExpiredOnesAreRefusedForThatReason) {
  for (const auto& each : {certificates_.expired_server(), certificates_.expired_client("anna")}) {
    const auto said = complaint(each, certificates_.authority(), "any");
    EXPECT_NE(said.find("certificate has expired"), std::string::npos) << said;
  }
}

TEST_F(CertificatesTest, StrangersAreTrustedByTheStrangersOnly) {
  const auto server = certificates_.strange_server();
  const auto client = certificates_.strange_client("anna");
  EXPECT_NE(complaint(server, certificates_.authority(), "sslserver"), "");
  EXPECT_NE(complaint(client, certificates_.authority(), "sslclient"), "");
  EXPECT_EQ(complaint(server, certificates_.stranger(), "sslserver"), "");
}

TEST_F(CertificatesTest, BadNamesAreReported) {
  EXPECT_THROW(certificates_.server("nonsense"), std::runtime_error);
}

}  // namespace
}  // namespace conclave::servers
