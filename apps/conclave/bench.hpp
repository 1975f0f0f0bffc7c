// What the benchmarks share: samples, percentiles, progress, and how results are printed.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/conclave/arguments.hpp"

namespace conclave::app {

struct Figures {
  std::vector<double> ours_us{};
  std::vector<double> raw_us{};                          // the same without the library
  std::vector<std::pair<std::string, double>> extras{};  // what only this benchmark has
};

// One line for programs, a few for people. `rtt_us` is a bare question to the store.
[[nodiscard]] int print_figures(const BenchArguments& arguments, const Figures& figures,
                                double rtt_us);

// Of its own, so that two benchmarks at once do not disturb each other.
[[nodiscard]] std::string bench_election();

// On a terminal, while it takes time.
class Progress {
 public:
  explicit Progress(int total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void step();

 private:
  const int total_;
  const bool shown_;
  int done_ = 0;
};

// A minimal client of one kind of store: two processes that pass its lock to each other.
class RawClient {
 public:
  virtual ~RawClient() = default;
  [[nodiscard]] virtual double hand_over_us() = 0;
  [[nodiscard]] virtual double crash_us() = 0;
  [[nodiscard]] virtual double first_us() = 0;
};

// None where there is no such client for the store's scheme.
[[nodiscard]] std::unique_ptr<RawClient> make_raw_client(const std::string& url);

[[nodiscard]] Figures bench_first(const BenchArguments& arguments);
[[nodiscard]] Figures bench_hand_over(const BenchArguments& arguments);
[[nodiscard]] Figures bench_crash(const BenchArguments& arguments);
[[nodiscard]] Figures bench_check(const BenchArguments& arguments);
[[nodiscard]] Figures bench_scale(const BenchArguments& arguments);

}  // namespace conclave::app
