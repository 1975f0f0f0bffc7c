#include "scenario/rig.hpp"

#include <gtest/gtest.h>

#include "core/invariants.hpp"

namespace conclave::test {
namespace {

core::Settings settings(const TimingOptions& options) {
  auto timing = resolve_timing(options);
  if (!timing) ADD_FAILURE() << timing.error().message;
  return {"me", timing ? *timing : Timing{}};
}

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const auto& line : lines) all += (all.empty() ? "" : "; ") + line;
  return all;
}

}  // namespace

Granted granted(std::uint64_t term, Instant since, Vacancy vacancy) {
  return {Term{term}, since, 3s, vacancy, Duration::zero(), std::nullopt};
}

Record record(std::uint64_t term, std::uint64_t stamp, const std::string& leader) {
  Record record;
  record.leader = leader;
  record.term = Term{term};
  record.stamp = stamp;
  record.lease = 3s;
  return record;
}

Held held(std::uint64_t term, std::uint32_t place) {
  return {record(term), place, Duration::zero(), std::nullopt};
}

Error error(ErrorCode code) { return {code, "as the test said", true, true}; }

Rig::Rig(const TimingOptions& options) : machine_(settings(options), {1, 2, 3, 4}) {}

std::string Rig::step(Instant now, const core::Input& input) {
  outputs_ = machine_.step(now, input);
  if (const auto broken = core::broken_invariant(machine_, now)) ADD_FAILURE() << *broken;
  said_.clear();
  for (const core::Output& output : outputs_) {
    said_.push_back(words_(output));
    remember(output, now);
  }
  return joined(said_);
}

void Rig::remember(const core::Output& output, Instant now) {
  if (const auto* campaign = std::get_if<core::DoCampaign>(&output)) {
    campaign_ = {campaign->op, now};
  } else if (const auto* renew = std::get_if<core::DoRenew>(&output)) {
    renew_ = {renew->op, now};
  } else if (const auto* resign = std::get_if<core::DoResign>(&output)) {
    resign_ = {resign->op, now};
  }
}

std::string Rig::campaign(Instant now, CampaignAnswer answer) {
  return step(now, core::CampaignDone{campaign_.op, std::move(answer)});
}

std::string Rig::renew(Instant now, RenewAnswer answer) {
  return step(now, core::RenewDone{renew_.op, std::move(answer)});
}

std::string Rig::resign(Instant now, Answer answer) {
  return step(now, core::ResignDone{resign_.op, std::move(answer)});
}

std::string Rig::observe(Instant now, Observation what) {
  return step(now, core::Observed{std::move(what)});
}

std::string Rig::run_until(Instant end) {
  std::vector<std::string> all;
  while (machine_.next_wakeup() && *machine_.next_wakeup() <= end) {
    tick(*machine_.next_wakeup());
    all.insert(all.end(), said_.begin(), said_.end());
  }
  return joined(all);
}

void Rig::become_leader() {
  step(at(0ms), core::Start{});
  campaign(at(1ms), granted(7, at(0ms)));
}

Instant Rig::wake() const { return machine_.next_wakeup().value_or(Instant::max()); }

}  // namespace conclave::test
