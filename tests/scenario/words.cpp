#include "scenario/words.hpp"

#include <cstdint>

namespace conclave::test {
namespace {

std::string number(std::int64_t count, std::int64_t unit, const char* name) {
  std::string digits = std::to_string(count / unit);
  if (const std::int64_t rest = count % unit; rest != 0) {
    std::string fraction = std::to_string(unit + rest).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    digits += '.' + fraction;
  }
  return digits + name;
}

std::string term_text(Term term) { return "term " + std::to_string(term.value); }

std::string until(Term term, Instant deadline) {
  return term_text(term) + " until " + text(deadline);
}

std::string because(Term term, LossReason reason) {
  return term_text(term) + " (" + std::string(to_string(reason)) + ")";
}

std::string form_of(const core::State& state) {
  if (const auto* bidding = std::get_if<core::Bidding>(&state)) {
    if (bidding->campaign.cancelled) return bidding->woken ? "cancelled, woken" : "cancelled";
    return bidding->woken ? "woken" : "";
  }
  if (const auto* reserved = std::get_if<core::Reserved>(&state))
    return reserved->ripe ? "ripe" : "";
  if (const auto* leading = std::get_if<core::Leading>(&state))
    return leading->tenure.jeopardy ? "jeopardy" : "";
  if (const auto* draining = std::get_if<core::Draining>(&state))
    return draining->overrun ? "overrun" : "";
  if (const auto* winding = std::get_if<core::WindingDown>(&state))
    return winding->release_at ? "" : "nothing to give back";
  if (const auto* stopped = std::get_if<core::Stopped>(&state))
    return stopped->announced ? "" : "giving back";
  return "";
}

}  // namespace

std::string text(Duration duration) {
  const std::int64_t us = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  if (us < 0) return "-" + text(-duration);
  if (us >= 1'000'000) return number(us, 1'000'000, "s");
  if (us >= 1'000 || us == 0) return number(us, 1'000, "ms");
  return number(us, 1, "us");
}

std::string text(Instant at) { return text(at.time_since_epoch()); }

std::string text(const core::State& state) {
  const std::string form = form_of(state);
  const std::string name{core::state_name(state)};
  return form.empty() ? name : name + " (" + form + ")";
}

std::string Words::operator()(const core::Output& output) {
  return std::visit([&](const auto& each) { return say(each); }, output);
}

std::string Words::say(const core::DoCampaign& call) {
  std::string said = "campaign #" + std::to_string(call.op) + " attempt " + name(call.attempt);
  if (call.highest_term_seen.exists()) said += " above " + term_text(call.highest_term_seen);
  if (const auto& seen = call.seen.unchanged) {
    said += ", seen unchanged term " + std::to_string(seen->term.value) + " version " +
            std::to_string(seen->stamp);
  }
  if (const auto& expected = call.seen.expected_server_time) {
    said += ", server time expected " + text(expected->time_since_epoch());
  }
  return said;
}

std::string Words::say(const core::DoRenew& call) {
  return "renew #" + std::to_string(call.op) + " " + term_text(call.term);
}

std::string Words::say(const core::DoResign& call) {
  return "resign #" + std::to_string(call.op) + " " +
         (call.term ? term_text(*call.term) : "attempt " + name(call.attempt)) +
         (call.was_valid ? ", released" : ", abandoned");
}

std::string Words::say(const core::DoObserve& call) {
  return "observe #" + std::to_string(call.op);
}

std::string Words::say(const core::DoCancel& call) { return "cancel #" + std::to_string(call.op); }

std::string Words::say(const core::Elected& news) {
  return "elected " + until(news.term, news.deadline);
}

std::string Words::say(const core::Extended& news) {
  return "extended " + until(news.term, news.deadline);
}

std::string Words::say(const core::Jeopardy& news) {
  return "jeopardy " + until(news.term, news.deadline);
}

std::string Words::say(const core::Stopping& news) {
  return "stopping " + because(news.term, news.reason);
}

std::string Words::say(const core::DrainOverrun& news) {
  return "drain overrun " + term_text(news.term);
}

std::string Words::say(const core::Lost& news) {
  return "lost " + because(news.term, news.reason) + " at " + text(news.at);
}

std::string Words::say(const core::LeaderChanged& news) {
  if (news.leader.empty()) return "leader changed to nobody";
  return "leader changed to " + news.leader + " " + term_text(news.term);
}

std::string Words::say(const core::Failed& news) {
  return "failed: " + std::string(to_string(news.error.code));
}

std::string Words::say(const core::HasStopped& news) {
  return news.election_ended ? "has stopped, election ended" : "has stopped";
}

std::string Words::name(const Attempt& attempt) {
  const auto next = std::string(1, static_cast<char>('A' + attempts_.size() % 26));
  return attempts_.try_emplace(attempt, next).first->second;
}

}  // namespace conclave::test
