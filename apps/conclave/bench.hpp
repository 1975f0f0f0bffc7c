// What the benchmarks share: samples, percentiles, progress, and how results are printed.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/conclave/arguments.hpp"
#include "apps/conclave/signals.hpp"

namespace conclave::app {

struct Figures {
  std::vector<double> ours_us{};
  std::vector<double> raw_us{};   // the same without the library
  std::vector<double> bare_us{};  // and without waiting for the disk
  std::string no_raw{};           // why there is no raw one
  // The same, counted from the end of the lease: where a crash is known by that alone.
  std::vector<double> beyond_lease_us{};
  std::vector<double> raw_beyond_lease_us{};
  std::vector<std::pair<std::string, double>> extras{};  // what only this benchmark has
};

// One line for programs, a few for people. `rtt_us` is a bare question to the store. Where nothing
// was timed, only the extras follow.
[[nodiscard]] int print_figures(const BenchArguments& arguments, const Figures& figures,
                                double rtt_us);

// Of its own, so that two benchmarks at once do not disturb each other.
[[nodiscard]] std::string bench_election();
// Short ones: names take room.
[[nodiscard]] std::string scale_election(int number);

// Somebody does not want to wait for the end.
struct Interrupted {
  int signal = 0;
};

// Throws Interrupted when one has come.
void heed(const Signals& signals);
void rest(Duration time, const Signals& signals);  // heeds them all the while

// On a terminal, while it takes time.
class Progress {
 public:
  Progress(int total, const Signals& signals);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void step();  // heeds signals

 private:
  void show() const;

  const int total_;
  const Signals& signals_;
  const bool shown_;
  int done_ = 0;
};

// From the kill of the leader to the next one; and from the end of its lease, where it had one.
struct Crash {
  double us = 0;
  std::optional<double> beyond_lease_us{};
};

// A minimal client of one kind of store: two processes that pass its lock to each other.
class RawClient {
 public:
  virtual ~RawClient() = default;
  [[nodiscard]] virtual double hand_over_us() = 0;
  [[nodiscard]] virtual Crash crash() = 0;
  [[nodiscard]] virtual double first_us() = 0;
};

struct RawClients {
  std::unique_ptr<RawClient> raw;   // keeps what the store promises to keep
  std::unique_ptr<RawClient> bare;  // where that makes a difference: loses it in a power failure
  std::string why_none;             // when there is none for this store
};

[[nodiscard]] RawClients make_raw_clients(const StoreArguments& store);
[[nodiscard]] RawClients make_raw_file(const std::string& url);
[[nodiscard]] RawClients make_raw_redis(const StoreArguments& store);
[[nodiscard]] RawClients make_raw_postgres(const StoreArguments& store);

// What a server has done so far, by names that only its kind has.
using Counts = std::map<std::string, double>;

class Meter {
 public:
  virtual ~Meter() = default;
  [[nodiscard]] virtual Counts counted() = 0;  // without this very question
  // What it did in between, in each lease.
  [[nodiscard]] virtual std::vector<std::pair<std::string, double>> told(const Counts& more) = 0;
  // How many connections are left; nothing where they are no matter, or nobody knows.
  [[nodiscard]] virtual std::optional<int> room() { return std::nullopt; }
};

// Nothing where there is no server that counts, or it cannot be asked.
[[nodiscard]] std::unique_ptr<Meter> make_meter(const StoreArguments& store);
[[nodiscard]] std::unique_ptr<Meter> make_postgres_meter(const StoreArguments& store);

// One round of each, into the figures.
void measure_raw(const RawClients& clients, const std::function<Crash(RawClient&)>& act,
                 Figures& figures);

// When the server lets the place of this leader go, on our clock; nothing where it is not the
// server that waits for a lease to end.
[[nodiscard]] std::optional<Instant> end_of_lease(const StoreArguments& store,
                                                  const std::string& election,
                                                  const std::string& leader);

// Nothing of that election is left behind, perhaps after its lease.
void purge(const StoreArguments& store, const std::vector<std::string>& elections);

[[nodiscard]] Figures bench_first(const BenchArguments& arguments, const Signals& signals);
[[nodiscard]] Figures bench_hand_over(const BenchArguments& arguments, const Signals& signals);
[[nodiscard]] Figures bench_crash(const BenchArguments& arguments, const Signals& signals);
[[nodiscard]] Figures bench_crash_of_many(const BenchArguments& arguments, const Signals& signals);
[[nodiscard]] Figures bench_check(const BenchArguments& arguments, const Signals& signals);
[[nodiscard]] Figures bench_scale(const BenchArguments& arguments, const Signals& signals);
[[nodiscard]] Figures bench_idle(const BenchArguments& arguments, const Signals& signals);

}  // namespace conclave::app
