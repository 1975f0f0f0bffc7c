// A real PostgreSQL for the tests of the store, and a fixture in real time on it.
#pragma once

#include <thread>

#include <conclave/postgres.hpp>

#include "conformance/real_time_fixture.hpp"
#include "servers/postgres_server.hpp"

namespace conclave::conformance {

// One server for all tests of a process: its age matters, and a new one is none.
inline servers::PostgresServer& shared_postgres() {
  static servers::PostgresServer server;
  return server;
}

class PostgresFixture : public RealTimeFixture {
 public:
  // A session's first statements take the server long, and several times as long on a busy machine.
  static constexpr Duration usual_lease = std::chrono::seconds{2};

  explicit PostgresFixture(PostgresMode mode, bool strict = false,
                           servers::PostgresServer& server = shared_postgres(),
                           Duration lease = usual_lease, bool tables = true)
      : server_(server), mode_(mode), strict_(strict), tables_(tables), lease_(lease) {
    forget_elections();
    wait_until_settled(2 * lease);
  }
  std::shared_ptr<Store> make_store(Duration lease) override {
    return connected(make_postgres_store(options(lease)));
  }
  [[nodiscard]] PostgresOptions options(Duration lease) const {
    PostgresOptions options;
    options.url = server_.url();
    options.mode = mode_;
    options.strict = strict_;
    options.tables = tables_;
    options.lease = lease;
    options.loop = loop();
    options.request_timeout = patience(lease);
    return options;
  }
  [[nodiscard]] Duration lease() const override { return lease_; }
  // Leases are long here, so that what waits for many of them is done less often.
  [[nodiscard]] int rounds(int without_server) const override { return without_server / 70 + 1; }
  [[nodiscard]] bool has(Ability ability) const override {
    if (ability == Ability::stamps || ability == Ability::expires) {
      return mode_ == PostgresMode::lease || strict_;
    }
    return ability == Ability::pushes || ability == Ability::wipes;
  }
  void wipe() override { server_.exec("truncate conclave_election, conclave_session"); }

  [[nodiscard]] servers::PostgresServer& server() const noexcept { return server_; }

 protected:
  // Where a test asks only once, it has to be answered. Zero: what is usual.
  [[nodiscard]] virtual Duration patience(Duration lease) const { return lease / 3; }

  // The first call would take long on a busy machine, until the connection is there.
  static std::shared_ptr<Store> connected(std::shared_ptr<Store> store) {
    while (!has_answered(*store)) {
    }
    return store;
  }

 private:
  static bool has_answered(Store& store) {
    std::promise<bool> answered;
    store.executor().post([&] {
      store.end("none", [&](const Answer& answer) {
        answered.set_value(!std::holds_alternative<Unknown>(answer));
      });
    });
    return answered.get_future().get();
  }

  // The tables stay: to make them takes long on a busy machine.
  void forget_elections() const {
    if (server_.value("select to_regclass('conclave_server') is null") == "t") return;
    server_.exec("delete from conclave_election; delete from conclave_session");
  }
  void wait_until_settled(Duration age) const {
    const auto wanted = std::chrono::ceil<std::chrono::milliseconds>(age).count();
    while (std::stol(server_.value("select (extract(epoch from clock_timestamp() - "
                                   "pg_postmaster_start_time()) * 1000)::bigint")) < wanted) {
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
  }

  servers::PostgresServer& server_;
  const PostgresMode mode_;
  const bool strict_;
  const bool tables_;
  const Duration lease_;
};

}  // namespace conclave::conformance
