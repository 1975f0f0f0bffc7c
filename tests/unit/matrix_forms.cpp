// How to get into each state, and into the forms of it that behave differently.
#include "unit/matrix.hpp"

namespace conclave::test {
namespace {

Instant idle(Rig&) { return at(0ms); }

Instant bidding(Rig& rig) {
  rig.step(at(0ms), core::Start{});
  return at(0ms);
}

Instant bidding_cancelled(Rig& rig) {
  bidding(rig);
  rig.tick(at(375ms));
  return at(375ms);
}

Instant bidding_woken(Rig& rig) {
  bidding(rig);
  rig.observe(at(1ms), YourTurn{});
  return at(1ms);
}

Instant waiting(Rig& rig) {
  bidding(rig);
  rig.campaign(at(1ms), held(5, 1));
  return at(1ms);
}

Instant waiting_third(Rig& rig) {
  bidding(rig);
  rig.campaign(at(1ms), held(5, 3));
  return at(1ms);
}

// A look after the bid has stood in line.
Instant bidding_again(Rig& rig) {
  waiting(rig);
  rig.tick(at(3001ms));
  return at(3001ms);
}

Instant retrying(Rig& rig) {
  bidding(rig);
  rig.campaign(at(1ms), Refused{error()});
  return at(1ms);
}

// A release has to be answered before the next bid.
Instant retrying_blocked(Rig& rig) {
  bidding(rig);
  rig.tick(at(375ms));
  rig.campaign(at(2400ms), granted(7, at(0ms)));
  return at(2400ms);
}

Instant reserved(Rig& rig) {
  bidding(rig);
  rig.campaign(at(1ms), granted(7, at(0ms), Vacancy::abandoned));
  return at(1ms);
}

Instant reserved_renewing(Rig& rig) {
  reserved(rig);
  rig.tick(at(1s));
  return at(1s);
}

Instant reserved_ripe(Rig& rig) {
  bidding(rig);
  rig.tick(at(375ms));
  rig.campaign(at(1900ms), granted(7, at(0ms)));
  return at(1900ms);
}

Instant leading(Rig& rig) {
  rig.become_leader();
  return at(1ms);
}

Instant leading_renewing(Rig& rig) {
  rig.become_leader();
  rig.tick(at(1s));
  return at(1s);
}

Instant leading_in_jeopardy(Rig& rig) {
  leading_renewing(rig);
  rig.tick(at(1375ms));
  return at(1375ms);
}

Instant draining(Rig& rig) {
  leading(rig);
  rig.step(at(2ms), core::ResignAsked{});
  return at(2ms);
}

Instant draining_renewing(Rig& rig) {
  draining(rig);
  rig.tick(at(1s));
  return at(1s);
}

Instant draining_forced(Rig& rig) {
  leading_in_jeopardy(rig);
  rig.tick(at(1800ms));
  return at(1800ms);
}

Instant draining_to_stop(Rig& rig) {
  leading(rig);
  rig.step(at(2ms), core::Stop{});
  return at(2ms);
}

// The limit of this rig's drain is 1.5 s.
Instant draining_overrun(Rig& rig) {
  draining_renewing(rig);
  rig.renew(at(1001ms), Renewed{at(1s)});
  rig.tick(at(1502ms));
  return at(1502ms);
}

Instant winding_down(Rig& rig) {
  leading(rig);
  rig.tick(at(2400ms));
  return at(2400ms);
}

Instant winding_down_given_back(Rig& rig) {
  winding_down(rig);
  rig.tick(at(3s));
  return at(3s);
}

Instant winding_down_nothing(Rig& rig) {
  leading(rig);
  rig.observe(at(2ms), SessionLost{});
  return at(2ms);
}

Instant winding_down_ended(Rig& rig) {
  leading(rig);
  rig.observe(at(2ms), Ended{});
  return at(2ms);
}

Instant resting(Rig& rig) {
  leading(rig);
  rig.step(at(2ms), core::WorkEnded{Term{7}});
  rig.resign(at(3ms), Done{});
  return at(3ms);
}

Instant resting_giving_back(Rig& rig) {
  leading(rig);
  rig.step(at(2ms), core::WorkEnded{Term{7}});
  return at(2ms);
}

Instant gated(Rig& rig) {
  rig.step(at(0ms), core::HealthChanged{false});
  rig.step(at(0ms), core::Start{});
  return at(0ms);
}

Instant stopped_unannounced(Rig& rig) {
  waiting(rig);
  rig.step(at(2ms), core::Stop{});
  return at(2ms);
}

Instant stopped_bidding(Rig& rig) {
  bidding(rig);
  rig.step(at(2ms), core::Stop{});
  return at(2ms);
}

Instant stopped(Rig& rig) {
  stopped_unannounced(rig);
  rig.resign(at(3ms), Done{});
  return at(3ms);
}

Instant stopped_still_withdrawing(Rig& rig) {
  stopped_unannounced(rig);
  rig.resign(at(3ms), Unknown{error()});
  return at(3ms);
}

Instant stopped_election_ended(Rig& rig) {
  waiting(rig);
  rig.observe(at(2ms), Ended{});
  return at(2ms);
}

}  // namespace

std::vector<Form> all_forms() {
  return {{"idle", idle},
          {"bidding", bidding},
          {"bidding, cancelled", bidding_cancelled},
          {"bidding, woken", bidding_woken},
          {"bidding, again", bidding_again},
          {"waiting", waiting},
          {"waiting, third", waiting_third},
          {"retrying", retrying},
          {"retrying, giving back", retrying_blocked},
          {"resting", resting},
          {"resting, giving back", resting_giving_back},
          {"gated", gated},
          {"reserved", reserved},
          {"reserved, renewing", reserved_renewing},
          {"reserved, ripe", reserved_ripe},
          {"leading", leading},
          {"leading, renewing", leading_renewing},
          {"leading, jeopardy", leading_in_jeopardy},
          {"draining", draining},
          {"draining, renewing", draining_renewing},
          {"draining, forced", draining_forced},
          {"draining, to stop", draining_to_stop},
          {"draining, overrun", draining_overrun},
          {"winding down", winding_down},
          {"winding down, given back", winding_down_given_back},
          {"winding down, nothing held", winding_down_nothing},
          {"winding down, election ended", winding_down_ended},
          {"stopped, giving back", stopped_unannounced},
          {"stopped, bid in flight", stopped_bidding},
          {"stopped, still withdrawing", stopped_still_withdrawing},
          {"stopped", stopped},
          {"stopped, election ended", stopped_election_ended}};
}

}  // namespace conclave::test
