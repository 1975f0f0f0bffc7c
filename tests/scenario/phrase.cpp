#include "scenario/phrase.hpp"

#include <cmath>
#include <map>
#include <sstream>
#include <stdexcept>

namespace conclave::test {
namespace {

[[noreturn]] void misunderstood(const std::string& what) {
  throw std::runtime_error("cannot understand \"" + what + "\"");
}

// The first clause word by word, the others by their key: "server age 1s" is {"server age", "1s"}.
class Phrase {
 public:
  explicit Phrase(const std::string& text) : text_(text) {
    std::istringstream clauses(text);
    std::string clause;
    std::getline(clauses, clause, ',');
    std::istringstream words(clause);
    for (std::string word; words >> word;) words_.push_back(word);
    while (std::getline(clauses, clause, ',')) add_option(clause);
  }

  // Takes these words from the front if they stand there.
  bool take(const std::string& expected) {
    std::istringstream stream(expected);
    std::size_t next = at_;
    for (std::string word; stream >> word; ++next) {
      if (next >= words_.size() || words_[next] != word) return false;
    }
    at_ = next;
    return true;
  }

  std::string word() {
    if (at_ >= words_.size()) misunderstood(text_);
    return words_[at_++];
  }

  Term term() {
    if (!take("term")) misunderstood(text_);
    return Term{std::stoull(word())};
  }

  std::optional<std::string> option(const std::string& key) {
    const auto found = options_.extract(key);
    if (found.empty()) return std::nullopt;
    return found.mapped();
  }

  Duration duration(const std::string& key, Duration otherwise) {
    const auto value = option(key);
    return value ? parse_duration(*value) : otherwise;
  }

  std::uint64_t count(const std::string& key, std::uint64_t otherwise) {
    const auto value = option(key);
    return value ? std::stoull(*value) : otherwise;
  }

  // A clause of which every word may be the value, such as "election ended".
  template <typename Enum>
  Enum one_of(std::initializer_list<Enum> values, std::optional<Enum> otherwise = {}) {
    for (const Enum value : values) {
      const std::string name{to_string(value)};
      if (take(name) || options_.erase(split(name).first) != 0) return value;
    }
    if (!otherwise) misunderstood(text_);
    return *otherwise;
  }

  void done() const {
    if (at_ != words_.size() || !options_.empty()) misunderstood(text_);
  }

 private:
  static std::pair<std::string, std::string> split(const std::string& clause) {
    const auto first = clause.find_first_not_of(' ');
    const auto gap = clause.find_last_of(' ');
    if (gap == std::string::npos || gap < first) return {clause.substr(first), ""};
    return {clause.substr(first, gap - first), clause.substr(gap + 1)};
  }

  void add_option(const std::string& clause) { options_.insert(split(clause)); }

  std::string text_;
  std::vector<std::string> words_;
  std::map<std::string, std::string> options_;
  std::size_t at_ = 0;
};

Vacancy parse_vacancy(Phrase& phrase) {
  return phrase.one_of(
      {Vacancy::absent, Vacancy::released, Vacancy::abandoned, Vacancy::expired, Vacancy::ended});
}

Error parse_error(Phrase& phrase, ErrorCode otherwise) {
  return error(phrase.one_of(
      {ErrorCode::timed_out, ErrorCode::cancelled, ErrorCode::unavailable, ErrorCode::denied,
       ErrorCode::unsupported, ErrorCode::corrupt, ErrorCode::election_ended},
      std::optional{otherwise}));
}

Record parse_record(Phrase& phrase) {
  const std::string leader = phrase.word();
  Record found = record(phrase.term().value, phrase.count("version", 1), leader);
  found.lease = phrase.duration("lease", 3s);
  if (const auto time = phrase.option("server time")) {
    found.server_time = ServerTime{parse_duration(*time)};
  }
  return found;
}

std::optional<Duration> parse_age(Phrase& phrase) {
  const auto age = phrase.option("server age");
  return age ? std::optional{parse_duration(*age)} : std::nullopt;
}

Granted parse_granted(Phrase& phrase, Instant since, Duration lease) {
  Granted answer = granted(phrase.term().value, since, parse_vacancy(phrase));
  answer.lease = phrase.duration("lease", lease);
  answer.previous_lease = phrase.duration("previous lease", Duration::zero());
  answer.server_age = parse_age(phrase);
  return answer;
}

Held parse_held(Phrase& phrase) {
  Held answer;
  answer.place = static_cast<std::uint32_t>(phrase.count("place", 1));
  answer.look_again_in = phrase.duration("look again in", Duration::zero());
  answer.server_age = parse_age(phrase);
  if (phrase.take("by")) answer.record = parse_record(phrase);
  return answer;
}

CampaignAnswer parse_campaign(Phrase& phrase, Instant since, Duration lease) {
  if (phrase.take("granted")) return parse_granted(phrase, since, lease);
  if (phrase.take("held")) return parse_held(phrase);
  if (phrase.take("unknown")) return Unknown{parse_error(phrase, ErrorCode::timed_out)};
  if (phrase.take("refused")) return Refused{parse_error(phrase, ErrorCode::denied)};
  misunderstood("campaign " + phrase.word());
}

RenewAnswer parse_renew(Phrase& phrase, Instant since) {
  if (phrase.take("done")) return Renewed{since};
  if (phrase.take("lost")) {
    return TermLost{phrase.one_of({LossReason::superseded, LossReason::record_gone,
                                   LossReason::session_lost, LossReason::election_ended})};
  }
  if (phrase.take("unknown")) return Unknown{parse_error(phrase, ErrorCode::timed_out)};
  if (phrase.take("refused")) return Refused{parse_error(phrase, ErrorCode::denied)};
  misunderstood("renew " + phrase.word());
}

Answer parse_resign(Phrase& phrase) {
  if (phrase.take("done")) return Done{};
  if (phrase.take("gone")) return Gone{};
  if (phrase.take("unknown")) return Unknown{parse_error(phrase, ErrorCode::timed_out)};
  if (phrase.take("refused")) return Refused{parse_error(phrase, ErrorCode::denied)};
  misunderstood("resign " + phrase.word());
}

Observation parse_observation(Phrase& phrase) {
  if (phrase.take("by")) return parse_record(phrase);
  if (phrase.take("your turn")) return YourTurn{};
  if (phrase.take("session lost")) return SessionLost{};
  if (phrase.take("ended")) return Ended{};
  if (!phrase.take("vacant")) misunderstood("observed " + phrase.word());
  const Vacancy vacancy = parse_vacancy(phrase);
  return Vacant{vacancy, phrase.term()};
}

core::Input parse_answer(Phrase& phrase, const Rig& rig, const std::string& verb) {
  const Call call = verb == "campaign" ? rig.last_campaign()
                    : verb == "renew"  ? rig.last_renew()
                                       : rig.last_resign();
  const core::OpId op = phrase.count("op", call.op);
  const Instant since{phrase.duration("since", call.sent.time_since_epoch())};
  if (verb == "campaign") {
    return core::CampaignDone{op, parse_campaign(phrase, since, rig.machine().timing().lease)};
  }
  if (verb == "renew") return core::RenewDone{op, parse_renew(phrase, since)};
  return core::ResignDone{op, parse_resign(phrase)};
}

core::Input parse(Phrase& phrase, const Rig& rig) {
  if (phrase.take("start")) return core::Start{};
  if (phrase.take("stop")) return core::Stop{};
  if (phrase.take("tick")) return core::Tick{};
  if (phrase.take("resign asked")) return core::ResignAsked{};
  if (phrase.take("work ended")) return core::WorkEnded{phrase.term()};
  if (phrase.take("term limit")) return core::TermLimitDue{phrase.term()};
  if (phrase.take("healthy")) return core::HealthChanged{true};
  if (phrase.take("unhealthy")) return core::HealthChanged{false};
  if (phrase.take("observed")) return core::Observed{parse_observation(phrase)};
  for (const char* verb : {"campaign", "renew", "resign"}) {
    if (phrase.take(verb)) return parse_answer(phrase, rig, verb);
  }
  misunderstood(phrase.word());
}

}  // namespace

Duration parse_duration(const std::string& word) {
  static const std::map<std::string, double> units = {
      {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}};
  std::size_t end = 0;
  const double count = std::stod(word, &end);
  const auto unit = units.find(word.substr(end));
  if (unit == units.end()) misunderstood(word);
  return Duration{std::llround(count * unit->second)};
}

core::Input parse_input(const std::string& text, const Rig& rig) {
  Phrase phrase(text);
  core::Input input = parse(phrase, rig);
  phrase.done();
  return input;
}

}  // namespace conclave::test
