// The two numbers that make an election safe: the term and the attempt.
#pragma once

#include <compare>
#include <cstdint>

namespace conclave {

// One period of leadership, and its fencing token.
//
// Every new grant has a strictly greater term than all before it: also a grant to the same
// candidate, also after release, expiry, restart or loss of the store's data. Hand the number to
// the resource that you protect, and let it refuse a lower one than it has seen. Zero is no term.
struct Term {
  std::uint64_t value = 0;

  [[nodiscard]] constexpr bool exists() const noexcept { return value != 0; }
  friend constexpr auto operator<=>(Term, Term) noexcept = default;
};

// A random id of one bid, from its first campaign to the grant or the withdrawal.
//
// It makes a repeated campaign harmless: a store that finds its record already carrying this
// attempt knows that the first reply was lost, and grants the same term again.
struct Attempt {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend constexpr auto operator<=>(const Attempt&, const Attempt&) noexcept = default;
};

}  // namespace conclave
