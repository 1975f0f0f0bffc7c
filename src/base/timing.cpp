#include <conclave/timing.hpp>

#include <cstdlib>

namespace conclave {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr Duration shortest_lease = milliseconds{10};
constexpr Duration longest_lease = hours{24};
constexpr Duration longest_of_all = hours{24 * 365};

// 1.5 s, 250 ms, 40 us: as a person would write it.
std::string text(Duration duration) {
  struct Unit {
    std::int64_t nanoseconds;
    const char* name;
  };
  if (duration == Duration::min()) duration += Duration{1};  // the one that has no positive twin
  constexpr Unit units[] = {{1'000'000'000, " s"}, {1'000'000, " ms"}, {1'000, " us"}, {1, " ns"}};
  const std::int64_t count = duration.count();
  for (const Unit& unit : units) {
    if (count != 0 && std::abs(count) < unit.nanoseconds) continue;
    std::string number = std::to_string(count / unit.nanoseconds);
    const std::int64_t thousandths = std::abs(count % unit.nanoseconds) * 1000 / unit.nanoseconds;
    if (thousandths != 0) {
      std::string digits = std::to_string(thousandths + 1000).substr(1);
      digits.erase(digits.find_last_not_of('0') + 1);
      number += '.' + digits;
    }
    return number + unit.name;
  }
  return "0 s";
}

Error refused(std::string sentence) { return invalid_argument(std::move(sentence)); }

std::optional<Error> check_range(const char* name, Duration value) {
  if (value <= Duration::zero()) {
    return refused(std::string(name) + " is " + text(value) +
                   ": it must be longer than zero; leave it out for the default");
  }
  if (value > longest_of_all) {
    return refused(std::string(name) + " is " + text(value) + ": it must be at most one year");
  }
  return std::nullopt;
}

std::optional<Error> check_options(const TimingOptions& options) {
  struct Field {
    const char* name;
    const std::optional<Duration>& value;
  };
  const Field fields[] = {
      {"lease", options.lease},
      {"renew_interval", options.renew_interval},
      {"request_timeout", options.request_timeout},
      {"grace", options.grace},
      {"drain_limit", options.drain_limit},
      {"cool_down", options.cool_down},
  };
  for (const Field& field : fields) {
    if (!field.value) continue;
    if (auto error = check_range(field.name, *field.value)) return error;
  }
  return std::nullopt;
}

std::optional<Error> check_lease(Duration lease) {
  if (lease < shortest_lease) {
    return refused("lease is " + text(lease) + ": it must be at least " + text(shortest_lease) +
                   ", below which timers decide who leads");
  }
  if (lease > longest_lease) {
    return refused("lease is " + text(lease) + ": it must be at most " + text(longest_lease) +
                   ", since a crashed leader is missed for that long");
  }
  return std::nullopt;
}

// One sentence for each relation that cannot work, the simplest first.
std::optional<Error> check_relations(const Timing& timing, Duration lag) {
  const Duration held = hold(timing.lease);
  const std::string held_text =
      text(held) + " (four fifths of the lease of " + text(timing.lease) + ")";
  if (timing.renew_interval >= held) {
    return refused("renew_interval is " + text(timing.renew_interval) + ": it must be below " +
                   held_text +
                   ", or no term outlives its first renewal; a third of the lease is usual");
  }
  if (timing.grace >= held) {
    return refused("grace is " + text(timing.grace) + ": it must be below " + held_text +
                   ", or the work is told to stop before it begins; a fifth of the lease is usual");
  }
  if (timing.request_timeout >= held) {
    return refused("request_timeout is " + text(timing.request_timeout) + ": it must be below " +
                   held_text +
                   ", or one lost reply costs the term; an eighth of the lease is usual");
  }
  const Duration needed = timing.renew_interval + lag + 2 * timing.request_timeout + timing.grace;
  if (needed >= held) {
    return refused("renew_interval (" + text(timing.renew_interval) + ") + the store's lag (" +
                   text(lag) + ") + 2 x request_timeout (" + text(timing.request_timeout) +
                   ") + grace (" + text(timing.grace) + ") is " + text(needed) +
                   ": it must be below " + held_text +
                   ", so that one lost reply does not cost the term; lengthen the lease or shorten "
                   "one of them");
  }
  return std::nullopt;
}

}  // namespace

Result<Timing> resolve_timing(const TimingOptions& options, const TimingLimits& limits) {
  if (auto error = check_options(options)) return *error;
  Timing timing;
  timing.lease = options.lease.value_or(limits.default_lease);
  if (timing.lease < limits.lease_floor) {
    timing.notes.push_back("lease was raised from " + text(timing.lease) + " to " +
                           text(limits.lease_floor) + ", the shortest that the server grants");
    timing.lease = limits.lease_floor;
  }
  if (auto error = check_lease(timing.lease)) return *error;
  timing.renew_interval = options.renew_interval.value_or(timing.lease / 3);
  timing.request_timeout = options.request_timeout.value_or(timing.lease / 8);
  timing.grace = options.grace.value_or(timing.lease / 5);
  timing.drain_limit = options.drain_limit.value_or(timing.lease * 10);
  timing.cool_down = options.cool_down.value_or(timing.lease);
  if (auto error = check_relations(timing, limits.lag)) return *error;
  return timing;
}

}  // namespace conclave
