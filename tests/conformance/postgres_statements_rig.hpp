// The statements of the PostgreSQL store on a real server, with tables for each test.
#pragma once

#include "conformance/postgres_bidder.hpp"

namespace conclave::conformance {

using servers::PostgresServer;

class PostgresStatements : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { shared = std::make_unique<PostgresServer>(); }
  static void TearDownTestSuite() { shared.reset(); }

  void SetUp() override {
    server().exec("drop table if exists conclave_election, conclave_session, conclave_server");
    server().exec(sql(postgres::create_tables));
  }
  static PostgresServer& server() { return *shared; }

  // Of a lease that is over by the server's clock; whoever bids knows what that should say.
  static void let_expire() {
    server().exec("update conclave_session set renewed = renewed - 100000000, stamp = stamp + 1");
  }
  static std::int64_t server_time() {
    return std::stoll(
        server().value("select (extract(epoch from clock_timestamp()) * 1000000)::bigint"));
  }

 private:
  static inline std::unique_ptr<PostgresServer> shared;
};

}  // namespace conclave::conformance
