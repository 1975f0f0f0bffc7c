#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "apps/conclave/bench.hpp"
#include "apps/conclave/clock.hpp"
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

void put(nlohmann::ordered_json& line, const std::string& kind, const std::vector<double>& samples,
         std::initializer_list<double> parts) {
  if (samples.empty()) return;
  for (const double part : parts) {
    const char* const name = part == 0.5 ? "p50_us" : part == 1 ? "max_us" : "p99_us";
    line[kind + name] = rounded(percentile(samples, part));
  }
}

// Where a lease has to end first, what comes before that says nothing.
void put_ratio(nlohmann::ordered_json& line, const std::string& kind, const Figures& figures,
               const std::vector<double>& to) {
  if (to.empty() || !figures.raw_beyond_lease_us.empty()) return;
  line[kind + "ratio_p50"] = rounded(percentile(figures.ours_us, 0.5) / percentile(to, 0.5));
}

}  // namespace

int print_figures(const BenchArguments& arguments, const Figures& figures, double rtt_us) {
  nlohmann::ordered_json line;
  line["bench"] = arguments.what;
  line["store"] = public_url(arguments.store.url);
  line["rounds"] = arguments.rounds;
  put(line, "", figures.ours_us, {0.5, 0.99, 1});
  line["rtt_us"] = rounded(rtt_us);
  put(line, "raw_", figures.raw_us, {0.5, 0.99});
  put_ratio(line, "", figures, figures.raw_us);
  put(line, "bare_", figures.bare_us, {0.5});
  put_ratio(line, "bare_", figures, figures.bare_us);
  put(line, "beyond_lease_", figures.beyond_lease_us, {0.5, 0.99, 1});
  put(line, "raw_beyond_lease_", figures.raw_beyond_lease_us, {0.5, 0.99});
  if (!figures.no_raw.empty()) line["raw"] = figures.no_raw;
  for (const auto& [name, value] : figures.extras) line[name] = tidy(value);
  if (arguments.json) {
    return say_all(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  std::string lines;
  for (const auto& [name, value] : line.items()) {
    std::string label = name;
    label.resize(std::max<std::size_t>(label.size() + 1, 25), ' ');
    lines += (lines.empty() ? "" : "\n") + label;
    lines += value.is_string() ? printable(value.get<std::string>()) : value.dump();
  }
  return say_all(lines);
}

RawClients make_raw_clients(const StoreArguments& store) {
  if (store.url.starts_with("file:")) return make_raw_file(store.url);
  if (store.url.starts_with("redis")) return make_raw_redis(store);
  if (store.url.starts_with("postgres")) return make_raw_postgres(store);
  return {nullptr, nullptr, "not available: this store has no minimal client"};
}

void measure_raw(const RawClients& clients, const std::function<Crash(RawClient&)>& act,
                 Figures& figures) {
  figures.no_raw = clients.why_none;
  if (clients.raw) {
    const Crash raw = act(*clients.raw);
    figures.raw_us.push_back(raw.us);
    if (raw.beyond_lease_us) figures.raw_beyond_lease_us.push_back(*raw.beyond_lease_us);
  }
  if (clients.bare) figures.bare_us.push_back(act(*clients.bare).us);
}

Progress::Progress(int total, const Signals& signals)
    : total_(total), signals_(signals), shown_(is_terminal(STDERR_FILENO)) {
  show();
}

Progress::~Progress() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void heed(const Signals& signals) {
  if (const auto signal = signals.take()) throw Interrupted{*signal};
}

void rest(Duration time, const Signals& signals) {
  const Instant end = boot_now() + time;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - boot_now()).count();
    pollfd signal{signals.fd(), POLLIN, 0};
    ::poll(&signal, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
    heed(signals);
  } while (boot_now() < end);
}

void Progress::step() {
  heed(signals_);
  done_ += 1;
  show();
}

void Progress::show() const {
  if (!shown_) return;
  constexpr int width = 40;
  const int filled = width * done_ / std::max(total_, 1);
  std::fprintf(stderr, "\r[%s%s] %d of %d",
               std::string(static_cast<std::size_t>(filled), '#').c_str(),
               std::string(static_cast<std::size_t>(width - filled), '.').c_str(), done_, total_);
  std::fflush(stderr);
}

}  // namespace conclave::app
