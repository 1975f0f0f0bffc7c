// The event loop, the network, and the server's side.
#include "simulation/world.hpp"

#include <algorithm>

#include "simulation/checks/resign_guard.hpp"
#include "simulation/record_model.hpp"
#include "simulation/session_model.hpp"

namespace conclave::sim {
namespace {

std::unique_ptr<StoreModel> make_store(const Plan& plan) {
  if (plan.family == Family::session) {
    return std::make_unique<SessionModel>(
        SessionModel::Kind{plan.server_rate, plan.stale_acknowledgements, plan.tick}, ~plan.seed);
  }
  const bool server_judges = plan.family == Family::server_clock;
  return std::make_unique<RecordModel>(RecordModel::Kind{
      server_judges, plan.repairs && server_judges, plan.server_rate, plan.seed % 2 == 1});
}

// An answer without having done anything: down, or for once unwilling.
template <typename Result>
Result not_executed(bool down) {
  if (down) return Unknown{{ErrorCode::unavailable, "server down", true, false}};
  return Refused{{ErrorCode::denied, "not now", true, false}};
}

}  // namespace

World::World(const Plan& plan, Trace* trace)
    : plan_(plan), trace_(trace), random_(plan.seed ^ 0x5eed), store_(make_store(plan)) {
  processes_.resize(plan.processes.size());
  for (std::uint32_t i = 0; i < processes_.size(); ++i) {
    Process& process = processes_[i];
    process.index = i;
    process.id = name_of(i);
    process.plan = &plan.processes[i];
    process.clock = ProcessClock(process.plan->rate, process.plan->origin);
    events_.push(random_.between(Duration::zero(), plan.lease), Launch{i});
  }
  for (std::size_t i = 0; i < plan.faults.size(); ++i)
    events_.push(plan.faults[i].at, FaultStrikes{i});
  events_.push(plan.calm_from, CalmBegins{});
  liveness_.disturbed(plan.calm_from + plan.network.longest);
  shortest_lease_ = plan.lease;
  for (const ProcessPlan& each : plan.processes) {
    shortest_lease_ = std::min(shortest_lease_, each.timing.lease);
  }
}

const Verdict& World::run() {
  while (verdict_.is_clean() && !events_.empty() && events_.next_at() <= plan_.length) {
    now_ = events_.next_at();
    const Event event = events_.pop();
    std::visit([&](const auto& each) { happen(each); }, event);
    if (is_calm()) check_liveness();
  }
  now_ = plan_.length;
  check_liveness();
  return verdict_;
}

// ---------------------------------------------------------------- network

// How long a message takes; nothing when it is lost.
std::optional<Duration> World::travel() {
  const NetworkPlan& network = plan_.network;
  if (!is_calm()) {
    if (random_.chance(network.loss)) return std::nullopt;
    if (random_.chance(network.tail)) return random_.between(network.slowest, network.longest);
  }
  return random_.between(network.fastest, network.slowest);
}

void World::send(Process& process, Pending pending, Arrival arrival) {
  process.pending.push_back(pending);
  if (process.cut_out && now_ < process.cut_until) return;
  if (!is_calm() && random_.chance(plan_.network.duplication)) {
    if (const auto later = travel()) events_.push(now_ + *later, arrival);
  }
  if (const auto delay = travel()) events_.push(now_ + *delay, std::move(arrival));
}

void World::answer(const Arrival& request, Real counted_from, core::Input reply) {
  const Process& process = processes_[request.caller.process];
  if (process.cut_in && now_ < process.cut_until) return;
  if (const auto delay = travel()) {
    events_.push(now_ + *delay, Delivery{request.caller, counted_from, std::move(reply)});
  }
}

void World::deliver_pushes() {
  for (Pushed& push : store_->pushed) {
    const Process& process = processes_[push.to.process];
    if (process.cut_in && now_ < process.cut_until) continue;
    if (!is_calm() && random_.chance(plan_.network.duplication)) {
      if (const auto later = travel()) events_.push(now_ + *later, PushDelivery{push});
    }
    if (const auto delay = travel()) events_.push(now_ + *delay, PushDelivery{std::move(push)});
  }
  store_->pushed.clear();
  const auto next = store_->next_event();
  if (next && (!server_works_at_ || *next < *server_works_at_)) {
    server_works_at_ = *next;
    events_.push(*next, ServerWorks{});
  }
}

// ---------------------------------------------------------------- the server

void World::happen(const Arrival& event) {
  const bool down = now_ < server_down_until_;
  if (down && random_.chance(0.5)) return;
  const bool executes = !down && (is_calm() || !random_.chance(plan_.refusals));
  if (std::holds_alternative<KeepAlive>(event.request)) {
    if (executes) store_->keep_alive(event.caller, now_);
    return;
  }
  if (std::holds_alternative<ObserveRequest>(event.request)) {
    if (executes) store_->observe(event.caller, now_);
    return deliver_pushes();
  }
  core::Input reply;
  Attempt attempt;
  if (const auto* campaign = std::get_if<CampaignRequest>(&event.request)) {
    attempt = campaign->attempt;
    check_load();
    auto answered =
        executes ? store_->campaign(*campaign, now_) : not_executed<CampaignAnswer>(down);
    if (const auto* granted = std::get_if<Granted>(&answered)) after_grant(*campaign, *granted);
    reply = core::CampaignDone{event.op, std::move(answered)};
  } else if (const auto* renew = std::get_if<RenewRequest>(&event.request)) {
    attempt = renew->attempt;
    processes_[event.caller.process].last_renewal = event;
    if (executes) after_renewal();
    reply = core::RenewDone{
        event.op, executes ? store_->renew(*renew, now_) : not_executed<RenewAnswer>(down)};
  } else {
    const auto& resign = std::get<ResignRequest>(event.request);
    attempt = resign.attempt;
    const auto before = store_->holder();
    reply = core::ResignDone{event.op,
                             executes ? store_->resign(resign, now_) : not_executed<Answer>(down)};
    ResignGuard::executed(attempt, before, store_->holder(), verdict_);
    if (before == attempt && store_->holder() != before) after_resign(event);
  }
  answer(event, store_->counted_from(attempt), std::move(reply));
  deliver_pushes();
}

void World::happen(const ServerWorks&) {
  server_works_at_.reset();
  if (now_ < server_down_until_) {
    server_works_at_ = server_down_until_;
    events_.push(server_down_until_, ServerWorks{});
    return;
  }
  store_->advance(now_);
  deliver_pushes();
}

void World::happen(const Write& event) {
  const Process& writer = processes_[event.process];
  const bool valid = leads(writer) && writer.machine->status().term == event.term;
  register_.write(event.term, event.process, valid, verdict_);
}

// ---------------------------------------------------------------- liveness

// The rank is the place that the best of those alive was told.
void World::check_liveness() {
  if (ended_) return;
  std::uint32_t rank = 0;
  for (const Process& process : processes_) {
    if (!process.machine) continue;
    const std::uint32_t place = std::max(process.machine->status().place, 1U);
    rank = rank == 0 ? place : std::min(rank, place);
  }
  // Where nobody's clock but their own judges, a look at a renewed record says nothing: two are
  // needed.
  const std::uint32_t looks = plan_.family == Family::own_clock ? 2 : 1;
  liveness_.check(now_, looks * rank, plan_.lease, verdict_);
}

void World::check_load() {
  const bool idle = is_calm() && std::any_of(processes_.begin(), processes_.end(),
                                             [this](const Process& each) { return leads(each); });
  if (!idle) return load_.disturbed(now_);
  load_.looked(now_, processes_.size(), shortest_lease_, verdict_);
}

void World::note(const std::string& text) {
  if (trace_ != nullptr) trace_->line(now_, text);
}

}  // namespace conclave::sim
