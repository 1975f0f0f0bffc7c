// Everything that can happen to a candidate. The runtime and the simulator turn the world into
// these.
#pragma once

#include <variant>

#include <conclave/store.hpp>

namespace conclave::core {

// A call that the machine has asked for; names its answer. Never zero.
using OpId = std::uint64_t;

struct Start {};
struct Tick {};  // nothing happened but time; every other input ticks as well
struct CampaignDone {
  OpId op{};
  CampaignAnswer answer;
};
struct RenewDone {
  OpId op{};
  RenewAnswer answer;
};
struct ResignDone {
  OpId op{};
  Answer answer;
};
struct Observed {
  Observation what;
};
struct ResignAsked {};
struct WorkEnded {  // the user's work of that term has come to its end
  Term term;
};
struct TermLimitDue {  // carries the term that it was armed for
  Term term;
};
struct HealthChanged {
  bool healthy{};
};
struct Stop {};

using Input = std::variant<Start, Tick, CampaignDone, RenewDone, ResignDone, Observed, ResignAsked,
                           WorkEnded, TermLimitDue, HealthChanged, Stop>;

}  // namespace conclave::core
