// The times of an election, and the relations between them that make it safe and steady.
//
// Most users set the lease and nothing else. The lease is how long the store waits for a leader
// that is silent; a leader counts on four fifths of it. The other times have defaults that follow
// from the lease, and a combination that cannot work is refused when the candidate is made, not at
// 3 a.m.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <conclave/export.hpp>
#include <conclave/result.hpp>
#include <conclave/time.hpp>

namespace conclave {

// What a user may set. Everything that is left out follows from the lease T.
struct TimingOptions {
  std::optional<Duration> lease{};            // T; default: the store's own (3 s for most)
  std::optional<Duration> renew_interval{};   // T/3: a leader renews this often
  std::optional<Duration> request_timeout{};  // T/8: one call to the store; then it is tried again
  std::optional<Duration> grace{};        // T/5: the work is told to stop this long before the end
  std::optional<Duration> drain_limit{};  // 10 T: how long a voluntary hand-over may take
  std::optional<Duration> cool_down{};    // T: an ex-leader lets others go first this long
};

// The same, complete and checked.
struct Timing {
  Duration lease{};
  Duration renew_interval{};
  Duration request_timeout{};
  Duration grace{};
  Duration drain_limit{};
  Duration cool_down{};
  std::vector<std::string> notes;  // what was changed on the way, such as a lease that was raised
};

// What the store contributes to the arithmetic.
struct TimingLimits {
  Duration default_lease{std::chrono::seconds{3}};
  Duration lease_floor{};  // the server's own minimum; a shorter lease is raised to it
  Duration lag{};  // how far the instant that a lease counts from lies behind a confirmed renewal
};

// Completes the options. An error names the option, what is wrong with it, and what would do.
[[nodiscard]] CONCLAVE_API Result<Timing> resolve_timing(const TimingOptions& options,
                                                         const TimingLimits& limits = {});

// Reads "3s", "250ms", "1m30s", "1.5h"; the units are h, m, s, ms, us, ns. `name` is what the error
// blames.
[[nodiscard]] CONCLAVE_API Result<Duration> parse_duration(std::string_view name,
                                                           std::string_view text);

// For how long after `since` a holder of a lease may believe in it: four fifths.
//
// The kernel lets a clock run 10 % too slow (0.899 with the adjtimex tick at its end) and another
// one 10 % too fast (1.101). 0.899 / 1.101 = 0.816: four fifths on the slowest clock are still over
// before a whole lease has passed on the fastest. There is no drift constant to tune.
[[nodiscard]] constexpr Duration hold(Duration lease) noexcept { return lease / 5 * 4; }

}  // namespace conclave
