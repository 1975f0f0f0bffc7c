#include "core/invariants.hpp"

#include "core/machine.hpp"

namespace conclave::core {
namespace {

const Tenure* tenure_of(const State& state) {
  if (const auto* leading = std::get_if<Leading>(&state)) return &leading->tenure;
  if (const auto* draining = std::get_if<Draining>(&state)) return &draining->tenure;
  if (const auto* reserved = std::get_if<Reserved>(&state)) return &reserved->tenure;
  return nullptr;
}

bool stands(const State& state) {
  return std::holds_alternative<Bidding>(state) || std::holds_alternative<Waiting>(state) ||
         std::holds_alternative<Retrying>(state) || std::holds_alternative<Reserved>(state);
}

}  // namespace

std::optional<std::string_view> broken_invariant(const Machine& machine, Instant now) {
  const State& state = machine.state();
  const bool leading = std::holds_alternative<Leading>(state);
  if (const Tenure* held = tenure_of(state)) {
    if (!held->term.exists()) return "a tenure has a term";
    if (held->since > now) return "a lease never counts from the future";
    if (held->deadline != held->since + hold(held->lease))
      return "the hold is four fifths of the lease";
    if (now >= held->deadline) return "no tenure outlives its deadline";
    if (leading && now >= held->deadline - machine.timing().grace)
      return "work is told to stop in time";
    if (held->term > machine.status().highest_term_seen) return "the own term counts as seen";
    if (machine.has_bid()) return "who holds a term does not bid";
  }
  if (std::holds_alternative<Bidding>(state) && !machine.has_bid())
    return "a campaign has its attempt";
  if (machine.leads_at(now) && !leading && !std::holds_alternative<Draining>(state)) {
    return "only a leader leads";
  }
  if (!machine.is_healthy() && (stands(state) || leading)) return "who is unhealthy does not stand";
  if (machine.is_stop_asked() && (stands(state) || leading)) return "who is stopped does not stand";
  if (const auto wake = machine.next_wakeup(); wake && *wake <= now) return "what is due was done";
  return std::nullopt;
}

}  // namespace conclave::core
