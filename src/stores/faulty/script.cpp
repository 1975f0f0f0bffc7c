#include "stores/faulty/script.hpp"

namespace conclave::testing {
namespace {

std::size_t index(Verb verb) { return static_cast<std::size_t>(verb); }

Error by_chance_error() {
  return Error{ErrorCode::unavailable, "the faulty store was told to fail by chance", true, false};
}

}  // namespace

void Script::next(Verb verb, Fault fault) {
  const std::scoped_lock lock(mutex_);
  lines_[index(verb)].push_back(std::move(fault));
}

void Script::randomly(std::uint64_t seed, Odds odds) {
  const std::scoped_lock lock(mutex_);
  seed_ = seed;
  odds_ = odds;
}

Weather Script::change(Weather weather) {
  const std::scoped_lock lock(mutex_);
  return std::exchange(weather_, weather);
}

Weather Script::weather() const {
  const std::scoped_lock lock(mutex_);
  return weather_;
}

std::uint64_t Script::count(Verb verb) const {
  const std::scoped_lock lock(mutex_);
  return counts_[index(verb)];
}

Fault Script::choose(Verb verb) {
  const std::scoped_lock lock(mutex_);
  counts_[index(verb)] += 1;
  if (weather_ == Weather::partitioned) return Fault::lose_request();
  if (weather_ == Weather::frozen) return Fault::hang();
  auto& line = lines_[index(verb)];
  if (line.empty()) return by_chance(verb);
  Fault fault = std::move(line.front());
  line.pop_front();
  return fault;
}

Fault Script::by_chance(Verb verb) {
  double chance = unit();
  const auto hits = [&chance](double odds) {
    const bool hit = chance >= 0 && chance < odds;
    chance -= odds;
    return hit;
  };
  if (verb == Verb::observe) {
    if (hits(odds_.drop_observation)) return Fault::lose_reply();
    return hits(odds_.delay_reply) ? Fault::delay_reply(delay()) : Fault::none();
  }
  if (hits(odds_.lose_request)) return Fault::lose_request();
  if (hits(odds_.lose_reply)) return Fault::lose_reply();
  if (hits(odds_.delay_request)) return Fault::delay_request(delay());
  if (hits(odds_.delay_reply)) return Fault::delay_reply(delay());
  if (hits(odds_.duplicate)) return Fault::duplicate(delay());
  if (hits(odds_.unknown)) return Fault::unknown(by_chance_error());
  return Fault::none();
}

// splitmix64: small, portable, and the same everywhere for the same seed.
std::uint64_t Script::draw() noexcept {
  seed_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t mixed = seed_;
  mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
  return mixed ^ (mixed >> 31U);
}

double Script::unit() noexcept { return static_cast<double>(draw() >> 11U) * 0x1.0p-53; }

Duration Script::delay() noexcept {
  const auto longest = static_cast<std::uint64_t>(odds_.longest_delay.count());
  return Duration{static_cast<Duration::rep>(draw() % (longest + 1))};
}

}  // namespace conclave::testing
