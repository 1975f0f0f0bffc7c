// A PostgreSQL for one test alone, and one that writes down what it is asked.
#pragma once

#include "conformance/postgres_rig.hpp"

namespace conclave::conformance {

// By a lock nobody is elected before the server has been up for a lease. This one says that it has,
// however long that is.
struct OldServer {
  explicit OldServer(const std::vector<std::string>& extra)
      : own({.steppable_clock = true, .extra = extra}) {
    own.step_clock(std::chrono::hours{1});
  }
  servers::PostgresServer own;
};

class OldServerFixture : private OldServer, public PostgresFixture {
 public:
  explicit OldServerFixture(PostgresMode mode, bool strict = false, bool tables = true,
                            Duration lease = usual_lease,
                            const std::vector<std::string>& extra = {})
      : OldServer(extra), PostgresFixture(mode, strict, own, lease, tables) {}
};

// To count what it is asked: exactly, and at once.
class LoggedFixture : public OldServerFixture {
 public:
  explicit LoggedFixture(PostgresMode mode, Duration lease = usual_lease)
      : OldServerFixture(mode, false, true, lease,
                         {"log_statement = 'all'", "log_line_prefix = '%a: '"}) {}

  // All statements of our sessions until now, each of which is a transaction.
  [[nodiscard]] long statements() const {
    const std::string log = server().log();
    const std::string begin = "conclave: LOG:  ";
    long count = 0;
    for (auto at = log.find(begin); at != std::string::npos; at = log.find(begin, at + 1)) {
      const auto rest = std::string_view(log).substr(at + begin.size());
      if (rest.starts_with("statement: ") || rest.starts_with("execute ")) ++count;
    }
    return count;
  }
};

}  // namespace conclave::conformance
