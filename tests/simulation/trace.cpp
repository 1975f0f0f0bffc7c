#include "simulation/trace.hpp"

#include <cstdio>

namespace conclave::sim {
namespace {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

std::string number(Term term) { return std::to_string(term.value); }
std::string text(std::string_view view) { return std::string(view); }
std::string short_id(Attempt attempt) {
  char buffer[8];
  std::snprintf(buffer, sizeof buffer, "%04x", static_cast<unsigned>(attempt.low & 0xffffU));
  return buffer;
}
std::string millis(Duration duration) {
  return std::to_string(duration.count() / 1'000'000) + " ms";
}

const auto answers = Overloaded{
    [](const Granted& a) {
      return "granted term " + number(a.term) + ", " + text(to_string(a.vacancy)) +
             (a.server_age ? ", server age " + millis(*a.server_age) : "");
    },
    [](const Held& a) {
      return "held" +
             (a.record ? " by " + a.record->leader + " term " + number(a.record->term) : "") +
             ", place " + std::to_string(a.place) + ", look again in " + millis(a.look_again_in);
    },
    [](const Renewed&) { return std::string("renewed"); },
    [](const TermLost& a) { return "lost, " + text(to_string(a.why)); },
    [](const Done&) { return std::string("done"); },
    [](const Gone&) { return std::string("gone"); },
    [](const Unknown& a) { return "unknown, " + a.error.message; },
    [](const Refused& a) { return "refused, " + text(to_string(a.error.code)); },
};

const auto observations = Overloaded{
    [](const Record& o) { return "record of " + o.leader + " term " + number(o.term); },
    [](const Vacant& o) {
      return "vacant " + text(to_string(o.vacancy)) + " term " + number(o.term);
    },
    [](const YourTurn&) { return std::string("your turn"); },
    [](const SessionLost&) { return std::string("session lost"); },
    [](const Ended&) { return std::string("ended"); },
};

std::string call(const char* verb, core::OpId op) { return verb + (" #" + std::to_string(op)); }

}  // namespace

void Trace::line(Real at, const std::string& text) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%12.6f  ", static_cast<double>(at.count()) / 1e9);
  lines_.push_back(buffer + text);
}

std::string describe(const core::Input& input) {
  using namespace core;
  return std::visit(
      Overloaded{
          [](const Start&) { return std::string("start"); },
          [](const Tick&) { return std::string("tick"); },
          [](const CampaignDone& i) {
            return call("campaign", i.op) + ": " + std::visit(answers, i.answer);
          },
          [](const RenewDone& i) {
            return call("renew", i.op) + ": " + std::visit(answers, i.answer);
          },
          [](const ResignDone& i) {
            return call("resign", i.op) + ": " + std::visit(answers, i.answer);
          },
          [](const Observed& i) { return "observed " + std::visit(observations, i.what); },
          [](const ResignAsked&) { return std::string("resign asked"); },
          [](const WorkEnded& i) { return "work ended, term " + number(i.term); },
          [](const TermLimitDue& i) { return "term limit of term " + number(i.term); },
          [](const HealthChanged& i) { return std::string(i.healthy ? "healthy" : "unhealthy"); },
          [](const Stop&) { return std::string("stop"); },
      },
      input);
}

std::string describe(const core::Output& output) {
  using namespace core;
  return std::visit(
      Overloaded{
          [](const DoCampaign& o) {
            return call("campaign", o.op) + " attempt " + short_id(o.attempt) + ", above term " +
                   number(o.highest_term_seen) + (o.seen.unchanged ? ", seen unchanged" : "") +
                   (o.seen.expected_server_time ? ", expects the server's time" : "");
          },
          [](const DoRenew& o) { return call("renew", o.op) + " term " + number(o.term); },
          [](const DoResign& o) {
            return call("resign", o.op) + " attempt " + short_id(o.attempt) +
                   (o.term ? " term " + number(*o.term) : "") + (o.was_valid ? ", was valid" : "");
          },
          [](const DoObserve& o) { return call("observe", o.op); },
          [](const DoCancel& o) { return call("cancel", o.op); },
          [](const Elected& o) { return "ELECTED term " + number(o.term); },
          [](const Extended& o) { return "extended term " + number(o.term); },
          [](const Jeopardy& o) { return "jeopardy, term " + number(o.term); },
          [](const Stopping& o) {
            return "stopping term " + number(o.term) + ", " + text(to_string(o.reason));
          },
          [](const DrainOverrun& o) { return "drain overrun, term " + number(o.term); },
          [](const Lost& o) {
            return "LOST term " + number(o.term) + ", " + text(to_string(o.reason));
          },
          [](const LeaderChanged& o) {
            return o.leader.empty() ? std::string("nobody leads") : o.leader + " leads";
          },
          [](const Failed& o) { return "failed: " + o.error.message; },
          [](const HasStopped&) { return std::string("stopped"); },
      },
      output);
}

}  // namespace conclave::sim
