// Errors at a calm pace: a store that is down is told of once, not with every try.
#pragma once

#include <map>
#include <optional>
#include <string>

#include <conclave/event.hpp>

namespace conclave::app {

// Of what people read; a program is told once a lease.
constexpr Duration calm_pace = std::chrono::seconds{60};

// How often an error came since it was last told, this time included, and within which time.
struct Repeats {
  int times = 1;
  Duration within{};
};

class Restraint {
 public:
  explicit Restraint(Duration pace) : pace_(pace) {}

  // Nothing when it was told within the pace already. Other events than errors always are told.
  [[nodiscard]] std::optional<Repeats> take(const Event& event);

 private:
  struct Told {
    Instant at{};    // when it was told
    Instant last{};  // when it came
    int times = 0;   // since it was told
  };

  const Duration pace_;
  std::map<std::string, Told> told_;  // by message: two may take turns
};

// For people: the error, whether time alone may mend it, and how often it came.
[[nodiscard]] std::string error_sentence(const Error& error, const Repeats& repeats);

}  // namespace conclave::app
