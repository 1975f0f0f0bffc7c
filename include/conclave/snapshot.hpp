// A candidate at one moment, and what it has counted since it was made.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <conclave/error.hpp>
#include <conclave/export.hpp>
#include <conclave/role.hpp>
#include <conclave/term.hpp>
#include <conclave/time.hpp>

namespace conclave {

inline constexpr std::size_t error_code_count =
    static_cast<std::size_t>(ErrorCode::work_failed) + 1;

struct Counters {
  std::uint64_t terms = 0;              // how often it was elected
  std::uint64_t transitions = 0;        // how often the leader or its term changed, also to nobody
  std::uint64_t renewals = 0;           // confirmed
  std::uint64_t late_renewals = 0;      // sent more than a tenth of the lease after they were due
  std::uint64_t drain_overruns = 0;     // work that did not end within the drain limit
  std::uint64_t callback_overruns = 0;  // callbacks that took longer than the grace
  Duration leaderless{};                // for how long it knew of no leader, while running
  std::array<std::uint64_t, error_code_count> failures{};  // by ErrorCode

  [[nodiscard]] std::uint64_t failed(ErrorCode code) const noexcept {
    return failures[static_cast<std::size_t>(code)];
  }
};

struct Snapshot {
  std::string election;
  std::string candidate;  // its id
  Role role{};
  bool is_leader = false;                  // at the moment of the snapshot
  Term term{};                             // while it holds one
  Duration lease_remaining{};              // of that term; zero otherwise
  bool jeopardy = false;                   // the last renewal failed
  std::uint32_t place = 0;                 // in the store's queue, where it keeps one
  std::string leader;                      // as last seen; empty for nobody
  Term leader_term{};                      // likewise
  std::optional<Duration> leader_age{};    // how long ago that was; none when nobody leads
  std::optional<Duration> last_contact{};  // how long ago the store answered
  Counters counters{};
};

// One JSON object on one line, for a health endpoint. Durations are in seconds.
[[nodiscard]] CONCLAVE_API std::string to_json(const Snapshot& snapshot);

}  // namespace conclave
