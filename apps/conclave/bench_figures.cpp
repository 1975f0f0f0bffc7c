#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/conclave/bench.hpp"
#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/output.hpp"

namespace conclave::app {
namespace {

double percentile(std::vector<double> samples, double part) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const auto rank = std::ceil(part * static_cast<double>(samples.size()));
  return samples[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

double rounded(double value) { return std::round(value * 1000) / 1000; }

// A count is written as one.
nlohmann::ordered_json tidy(double value) {
  if (value == std::floor(value)) return static_cast<std::int64_t>(value);
  return rounded(value);
}

}  // namespace

int print_figures(const BenchArguments& arguments, const Figures& figures, double rtt_us) {
  const double p50 = percentile(figures.ours_us, 0.5);
  const double raw = percentile(figures.raw_us, 0.5);
  nlohmann::ordered_json line;
  line["bench"] = arguments.what;
  line["store"] = public_url(arguments.store.url);
  line["rounds"] = arguments.rounds;
  line["p50_us"] = rounded(p50);
  line["p99_us"] = rounded(percentile(figures.ours_us, 0.99));
  line["max_us"] = rounded(percentile(figures.ours_us, 1));
  line["rtt_us"] = rounded(rtt_us);
  if (!figures.raw_us.empty()) {
    line["raw_p50_us"] = rounded(raw);
    line["raw_p99_us"] = rounded(percentile(figures.raw_us, 0.99));
    line["ratio_p50"] = rounded(p50 / raw);
  }
  if (!figures.bare_us.empty()) {
    const double bare = percentile(figures.bare_us, 0.5);
    line["bare_p50_us"] = rounded(bare);
    line["bare_ratio_p50"] = rounded(p50 / bare);
  }
  for (const auto& [name, value] : figures.extras) line[name] = tidy(value);
  if (arguments.json) {
    return say_all(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  std::string lines;
  for (const auto& [name, value] : line.items()) {
    std::string label = name;
    label.resize(17, ' ');
    lines += (lines.empty() ? "" : "\n") + label;
    lines += value.is_string() ? printable(value.get<std::string>()) : value.dump();
  }
  return say_all(lines);
}

void measure_raw(const RawClients& clients, const std::function<double(RawClient&)>& act,
                 Figures& figures) {
  if (clients.raw) figures.raw_us.push_back(act(*clients.raw));
  if (clients.bare) figures.bare_us.push_back(act(*clients.bare));
}

Progress::Progress(int total, const Signals& signals)
    : total_(total), signals_(signals), shown_(is_terminal(STDERR_FILENO)) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void heed(const Signals& signals) {
  if (const auto signal = signals.take()) throw Interrupted{*signal};
}

void Progress::step() {
  heed(signals_);
  done_ += 1;
  if (!shown_) return;
  constexpr int width = 40;
  const int filled = width * done_ / std::max(total_, 1);
  std::fprintf(stderr, "\r[%s%s] %d of %d",
               std::string(static_cast<std::size_t>(filled), '#').c_str(),
               std::string(static_cast<std::size_t>(width - filled), '.').c_str(), done_, total_);
  std::fflush(stderr);
}

}  // namespace conclave::app
