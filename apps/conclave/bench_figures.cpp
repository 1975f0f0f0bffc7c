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
  for (const auto& [name, value] : figures.extras) line[name] = rounded(value);
  if (arguments.json) return say(line.dump()) ? ok : failed;
  for (const auto& [name, value] : line.items()) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    std::string label = name;
    label.resize(16, ' ');
    if (!say(label + text)) return failed;
  }
  return ok;
}

Progress::Progress(int total) : total_(total), shown_(is_terminal(STDERR_FILENO)) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::step() {
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
