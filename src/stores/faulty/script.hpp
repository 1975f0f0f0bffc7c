// Which fault comes next: those in line first, then those that the seed decides.
#pragma once

#include <array>
#include <deque>
#include <mutex>

#include <conclave/testing/faulty_store.hpp>

namespace conclave::testing {

enum class Weather { fair, partitioned, frozen };

// May be used from any thread.
class Script {
 public:
  void next(Verb verb, Fault fault);
  void randomly(std::uint64_t seed, Odds odds);
  Weather change(Weather weather);  // says what it was before

  // The fault for a call that is made now. Counts it.
  [[nodiscard]] Fault choose(Verb verb);
  [[nodiscard]] Weather weather() const;
  [[nodiscard]] std::uint64_t count(Verb verb) const;

 private:
  static constexpr std::size_t verbs = 8;

  [[nodiscard]] Fault by_chance(Verb verb);
  [[nodiscard]] std::uint64_t draw() noexcept;
  [[nodiscard]] double unit() noexcept;
  [[nodiscard]] Duration delay() noexcept;

  mutable std::mutex mutex_;
  std::array<std::deque<Fault>, verbs> lines_;
  std::array<std::uint64_t, verbs> counts_{};
  Weather weather_ = Weather::fair;
  Odds odds_;
  std::uint64_t seed_ = 0;
};

}  // namespace conclave::testing
