// Every input; each alternative of an answer or an observation is an input of its own.
#include "unit/matrix.hpp"

namespace conclave::test {
namespace {

constexpr core::OpId stale = 999;

// What a call that was sent at `sent` may be answered with.
std::vector<std::pair<std::string, CampaignAnswer>> campaign_answers(Instant sent) {
  return {{"campaign granted", granted(9, sent)},
          {"campaign granted, lower term", granted(2, sent)},
          {"campaign held", held(6, 1)},
          {"campaign unknown", Unknown{error()}},
          {"campaign refused", Refused{error(ErrorCode::denied)}},
          {"campaign refused, election ended", Refused{error(ErrorCode::election_ended)}}};
}

std::vector<std::pair<std::string, RenewAnswer>> renew_answers(Instant sent) {
  return {{"renew done", Renewed{sent}},
          {"renew lost, superseded", TermLost{LossReason::superseded}},
          {"renew lost, record gone", TermLost{LossReason::record_gone}},
          {"renew lost, session lost", TermLost{LossReason::session_lost}},
          {"renew lost, election ended", TermLost{LossReason::election_ended}},
          {"renew unknown", Unknown{error()}},
          {"renew refused", Refused{error(ErrorCode::denied)}}};
}

std::vector<std::pair<std::string, Answer>> resign_answers() {
  return {{"resign done", Done{}},
          {"resign gone", Gone{}},
          {"resign unknown", Unknown{error()}},
          {"resign refused", Refused{error(ErrorCode::denied)}}};
}

std::vector<std::pair<std::string, Observation>> observations() {
  return {{"observed record of an older term", record(2)},
          {"observed record of term 5", record(5, 2)},
          {"observed record of term 7", record(7, 2, "me")},
          {"observed record of a later term", record(9)},
          {"observed vacant, older term", Vacant{Vacancy::released, Term{2}}},
          {"observed vacant, term 5", Vacant{Vacancy::released, Term{5}}},
          {"observed vacant, term 7", Vacant{Vacancy::ended, Term{7}}},
          {"observed vacant, later term", Vacant{Vacancy::expired, Term{9}}},
          {"observed your turn", YourTurn{}},
          {"observed session lost", SessionLost{}},
          {"observed ended", Ended{}}};
}

std::vector<std::pair<std::string, core::Input>> plain_inputs() {
  return {{"start", core::Start{}},
          {"tick", core::Tick{}},
          {"resign asked", core::ResignAsked{}},
          {"work ended, term 7", core::WorkEnded{Term{7}}},
          {"work ended, other term", core::WorkEnded{Term{6}}},
          {"term limit, term 7", core::TermLimitDue{Term{7}}},
          {"term limit, other term", core::TermLimitDue{Term{6}}},
          {"unhealthy", core::HealthChanged{false}},
          {"healthy", core::HealthChanged{true}},
          {"stop", core::Stop{}}};
}

void add_campaigns(std::vector<Kind>& kinds) {
  for (std::size_t i = 0; i < campaign_answers({}).size(); ++i) {
    const std::string name = campaign_answers({})[i].first;
    kinds.push_back({name, [i](const Rig& rig) {
                       const Call call = rig.last_campaign();
                       return core::CampaignDone{call.op, campaign_answers(call.sent)[i].second};
                     }});
    kinds.push_back({"stale " + name, [i](const Rig&) {
                       return core::CampaignDone{stale, campaign_answers({})[i].second};
                     }});
  }
}

void add_renewals(std::vector<Kind>& kinds) {
  for (std::size_t i = 0; i < renew_answers({}).size(); ++i) {
    const std::string name = renew_answers({})[i].first;
    kinds.push_back({name, [i](const Rig& rig) {
                       const Call call = rig.last_renew();
                       return core::RenewDone{call.op, renew_answers(call.sent)[i].second};
                     }});
    kinds.push_back({"stale " + name, [i](const Rig&) {
                       return core::RenewDone{stale, renew_answers({})[i].second};
                     }});
  }
}

void add_resignations(std::vector<Kind>& kinds) {
  for (const auto& [name, answer] : resign_answers()) {
    kinds.push_back({name, [answer = answer](const Rig& rig) {
                       return core::ResignDone{rig.last_resign().op, answer};
                     }});
    kinds.push_back({"stale " + name, [answer = answer](const Rig&) {
                       return core::ResignDone{stale, answer};
                     }});
  }
}

}  // namespace

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (const auto& [name, input] : plain_inputs()) {
    kinds.push_back({name, [input = input](const Rig&) { return input; }});
  }
  add_campaigns(kinds);
  add_renewals(kinds);
  add_resignations(kinds);
  for (const auto& [name, what] : observations()) {
    kinds.push_back({name, [what = what](const Rig&) { return core::Observed{what}; }});
  }
  return kinds;
}

}  // namespace conclave::test
