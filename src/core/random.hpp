// A small portable generator (xoshiro256**, seeded by splitmix64): the same seed gives the same
// numbers on every machine and compiler, which std::distributions do not promise. Public-domain
// algorithms by Blackman and Vigna; not for secrets.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include <conclave/time.hpp>

namespace conclave::core {

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) noexcept {
    for (auto& word : state_) {
      seed += 0x9e3779b97f4a7c15ULL;
      std::uint64_t mixed = seed;
      mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
      mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
      word = mixed ^ (mixed >> 31U);
    }
  }

  // Seeded with 256 bits of entropy: for ids that must be unique in the world.
  explicit constexpr Random(const std::array<std::uint64_t, 4>& seed) noexcept : Random(seed[0]) {
    for (std::size_t i = 0; i < state_.size(); ++i) state_[i] ^= seed[i];
  }

  constexpr std::uint64_t next() noexcept {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17U;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // In [0, 1).
  constexpr double unit() noexcept { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

  // In [low, high], both ends included.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
    const auto span = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(span == 0 ? next() : next() % span);
  }
  constexpr Duration between(Duration low, Duration high) noexcept {
    return Duration{between(low.count(), high.count())};
  }

  constexpr bool chance(double probability) noexcept { return unit() < probability; }

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace conclave::core
