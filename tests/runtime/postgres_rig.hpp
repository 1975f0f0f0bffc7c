// Candidates of the library on a PostgreSQL, in both modes.
#pragma once

#include <gtest/gtest.h>

#include <conclave/postgres.hpp>

#include "servers/postgres_server.hpp"

namespace conclave::rig {

class OnPostgres : public ::testing::TestWithParam<PostgresMode> {
 protected:
  static constexpr Duration short_lease = std::chrono::seconds{2};

  // Nobody who has to wait for such a lease comes in time.
  OnPostgres() { server_.step_clock(std::chrono::hours{1}); }

  // Another connection, as another process has it.
  [[nodiscard]] std::shared_ptr<Store> store(Duration lease = std::chrono::minutes{10}) const {
    PostgresOptions options;
    options.url = server_.url();
    options.mode = GetParam();
    options.lease = lease;
    return make_postgres_store(std::move(options));
  }
  [[nodiscard]] servers::PostgresServer& server() { return server_; }

 private:
  // By a lock nobody is elected before the server has been up for a lease; this one says it has.
  servers::PostgresServer server_{{.steppable_clock = true}};
};

inline auto postgres_modes() {
  return ::testing::Values(PostgresMode::advisory, PostgresMode::lease);
}
inline std::string name_of_mode(const ::testing::TestParamInfo<PostgresMode>& mode) {
  return mode.param == PostgresMode::lease ? "lease" : "advisory";
}

}  // namespace conclave::rig
