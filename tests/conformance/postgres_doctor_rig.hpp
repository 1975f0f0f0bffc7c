// What the tests of `conclave doctor` on PostgreSQL ask.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include <conclave/admin.hpp>
#include <conclave/postgres.hpp>

#include "servers/postgres_server.hpp"

namespace conclave::conformance {

inline const servers::PostgresUser anna{"anna", "geheim"};

// Nothing to complain of, and it does not wait for a disk: its data are in memory.
inline servers::PostgresOptions good(std::vector<std::string> extra = {}) {
  extra.insert(extra.begin(), {"fsync = on"});
  return {.users = {anna}, .extra = std::move(extra)};
}

inline PostgresOptions options_of(const std::string& url,
                                  PostgresMode mode = PostgresMode::advisory) {
  PostgresOptions options;
  options.url = url;
  options.mode = mode;
  options.lease = std::chrono::seconds{8};  // so that a busy machine is no slow one
  return options;
}

inline std::vector<Finding> findings(const PostgresOptions& options) {
  const auto store = make_postgres_store(options);
  const auto found = check(*store, std::chrono::seconds{60});
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : std::vector<Finding>{};
}

inline std::vector<Finding> findings(const std::string& url) { return findings(options_of(url)); }

// The finding that has this in its setting; an empty one when there is none.
inline Finding about(const std::vector<Finding>& all, const std::string& setting) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Finding& each) {
    return each.setting.find(setting) != std::string::npos;
  });
  return found != all.end() ? *found : Finding{};
}

inline void expect_finding(const std::vector<Finding>& all, const std::string& setting,
                           Severity severity, const std::string& fix) {
  const Finding found = about(all, setting);
  EXPECT_NE(found.setting, "") << setting << " was not found";
  EXPECT_EQ(found.severity, severity) << setting;
  EXPECT_NE(found.fix.find(fix), std::string::npos) << found.fix;
  EXPECT_FALSE(found.problem.empty());
  EXPECT_EQ((found.problem + found.fix).find("geheim"), std::string::npos);
}

inline void expect_no_finding(const std::vector<Finding>& all, const std::string& setting) {
  const Finding found = about(all, setting);
  EXPECT_EQ(found.setting, "") << found.problem;
}

inline std::string tables_of(const servers::PostgresServer& server) {
  return server.value("select count(*) from pg_class where relname like 'conclave%'");
}

inline void make_tables(const servers::PostgresServer& server) {
  const auto store = make_postgres_store(options_of(server.url()));
  EXPECT_TRUE(remove(*store, "none", Remains::trace, std::chrono::seconds{60}));
}

}  // namespace conclave::conformance
