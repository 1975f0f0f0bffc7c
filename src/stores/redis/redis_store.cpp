#include "stores/redis/redis_store.hpp"

#include <limits>
#include <utility>

#include <conclave/names.hpp>

#include "stores/redis/doctor.hpp"
#include "stores/redis/keys.hpp"
#include "stores/redis/redis_calls.hpp"

namespace conclave::redis {
namespace {

Traits traits_of(bool pushes) {
  Traits traits;
  traits.judge = LeaseJudge::server;
  traits.terms = TermStrength::survives_wipe;
  traits.pushes = pushes;
  traits.queues = true;
  traits.reports_age = true;
  return traits;
}

Error refusal(ErrorCode code, std::string sentence) {
  return {code, std::move(sentence), false, false};
}

std::optional<Error> check_bid(const Bid& bid) {
  if (auto error = check_election_name(bid.election)) return error;
  if (auto error = check_candidate_id(bid.candidate)) return error;
  if (auto error = check_metadata(bid.metadata)) return error;
  if (bid.highest_term_seen.value == std::numeric_limits<std::uint64_t>::max()) {
    return invalid_argument(
        "highest_term_seen is the greatest number there is: no term is above it");
  }
  return std::nullopt;
}

// Of those that say no for good.
std::optional<Error> refusal_in(std::string_view word, const std::string& election) {
  if (word == "ENDED") {
    return refusal(ErrorCode::election_ended,
                   "the election \"" + election + "\" was ended: remove it to begin anew");
  }
  if (word == "FINISHED") {
    return refusal(ErrorCode::invalid_state,
                   "this attempt was already resigned: campaign with a new one");
  }
  if (word == "EXHAUSTED") {
    return refusal(ErrorCode::corrupt, "the election \"" + election +
                                           "\" has had the greatest term there is: purge it");
  }
  return std::nullopt;
}

std::string random_id() {
  std::random_device random;
  return to_text(
      {(std::uint64_t{random()} << 32U) | random(), (std::uint64_t{random()} << 32U) | random()});
}

}  // namespace

RedisStore::RedisStore(std::shared_ptr<net::AsioLoop> loop, StoreSettings settings,
                       std::unique_ptr<Commands> commands, std::shared_ptr<const Settings> inbox)
    : loop_(std::move(loop)),
      settings_(std::move(settings)),
      traits_(traits_of(inbox != nullptr)),
      inbox_id_(inbox_channel(settings_.prefix, random_id())),
      commands_(std::move(commands)),
      calls_(*loop_, [this] { return given_up(commands_->where()); }) {
  if (inbox == nullptr) {
    hearing_ = Hearing::no;
    return;
  }
  inbox_ = std::make_unique<Inbox>(
      *loop_, std::move(inbox),
      Inbox::Handlers{.wanted = [this] { return wanted_channels(); },
                      .listening = [this](const std::string& channel) { is_hearing(channel); },
                      .heard = [this](const std::string& channel,
                                      const std::string& letter) { heard(channel, letter); },
                      .deaf = [this](const Error&) { is_deaf(); },
                      .refused = [this](const Error& why) { is_refused(why); }});
}

RedisStore::~RedisStore() = default;

std::string RedisStore::key(const std::string& election) const {
  return record_key(settings_.prefix, election);
}

Asked RedisStore::asked(const std::string& record) const {
  return {commands_->where(), record, commands_->greeting().age_at(now())};
}

void RedisStore::cancel(Operation operation) {
  if (const auto record = spots_.cancel(operation)) {
    if (Spot* const spot = spots_.find(*record)) spot->listens = false;
    if (inbox_) inbox_->unsubscribe(news_channel(*record));
    return;
  }
  calls_.give_up(operation);
}

// ---------------------------------------------------------------- campaign

Operation RedisStore::campaign(Bid bid, std::function<void(CampaignAnswer)> done) {
  if (auto error = check_bid(bid))
    return calls_.reply(std::move(done), CampaignAnswer{Refused{*std::move(error)}});
  const auto call = calls_.begin<CampaignAnswer>(std::move(done));
  const Operation operation = call->operation;
  if (inbox_) inbox_->open();
  if (hearing_ == Hearing::unsure) {
    until_sure_.emplace_back([this, call, bid = std::move(bid)] { this->bid(bid, call); });
    if (until_sure_.size() == 1) {
      // A server that is silent on that connection must not keep the other one from bidding.
      loop_->post_at(now() + settings_.request_timeout, calls_.while_alive([this] {
        if (hearing_ == Hearing::unsure) is_deaf();
      }));
    }
    commands_->prepare([](const std::optional<Error>&) {});  // meanwhile
  } else {
    this->bid(bid, call);
  }
  return operation;
}

void RedisStore::bid(const Bid& bid, const net::CallPtr<CampaignAnswer>& call) {
  if (!call->is_open()) return;
  // There is no other way to tell a candidate. It repeats its bid at once, and nothing was lost.
  if (refusal_ && told_of_refusal_.emplace(bid.election, bid.candidate).second) {
    return loop_->post(calls_.while_alive(
        [this, call, why = *refusal_] { calls_.answer(call, CampaignAnswer{Unknown{why}}); }));
  }
  commands_->prepare(calls_.while_alive([this, bid, call](const std::optional<Error>& failed) {
    if (failed) return calls_.answer(call, CampaignAnswer{Unknown{*failed}});
    if (!call->is_open()) return;
    const std::string record = key(bid.election);
    const auto& seen = bid.seen;
    const bool reachable = hearing_ == Hearing::yes;
    stood_deaf_ = stood_deaf_ || !reachable;
    commands_->run(
        redis::campaign, {record, queue_key(record), waiting_key(record), metadata_key(record)},
        {to_text(bid.attempt), bid.candidate, to_micros(settings_.lease),
         std::to_string(bid.highest_term_seen.value), bid.metadata,
         seen.unchanged ? std::to_string(seen.unchanged->term.value) : "",
         seen.unchanged ? std::to_string(seen.unchanged->stamp) : "",
         seen.expected_server_time ? to_micros(seen.expected_server_time->time_since_epoch()) : "",
         reachable ? inbox_id_ : "", commands_->greeting().identity, is_patient(record) ? "1" : "0",
         to_micros(
             std::max(settings_.lease - commands_->greeting().age_at(now()), Duration::zero()))},
        calls_.while_alive([this, bid, call](const Result<Delivered>& got) {
          if (!call->is_open()) return;  // given up: what was granted is resigned
          calls_.answer(call, answered(bid, got));
        }));
  }));
}

CampaignAnswer RedisStore::answered(const Bid& bid, const Result<Delivered>& answer) {
  const std::string record = key(bid.election);
  const std::string_view word = answer ? word_in(answer->reply) : std::string_view{};
  if (answer && word != "VANISHED") vanished_.erase(record);
  if (auto error = refusal_in(word, bid.election)) return Refused{*std::move(error)};
  if (word == "CHANGED") {
    const Error error{ErrorCode::unavailable,
                      commands_->where() + " has become another one: it was restarted or promoted",
                      true, false};
    loop_->post(calls_.while_alive([this, error] { commands_->greet_again(error); }));
    return Unknown{error};
  }
  if (auto granted = answer ? granted_in(answer->reply, answer->sent) : std::nullopt) {
    granted->server_age = asked(record).server_age;
    leads(record, bid);
    // First the leader itself is told, then the others.
    loop_->post(
        calls_.while_alive([this, record, term = granted->term] { announce(record, term); }));
    return *granted;
  }
  auto held = answer ? held_in(answer->reply) : std::nullopt;
  if (!held) return not_understood<CampaignAnswer>(answer, record, "a campaign");
  held->server_age = asked(record).server_age;
  if (word == "VANISHED") {
    vanished(record, lease_in_vanished(answer->reply));
  } else if (!held->record) {
    remind(bid, held->look_again_in);
  } else if (hearing_ == Hearing::no && held->place == 1) {
    // Nobody will tell that the place is free.
    held->look_again_in = std::min(held->look_again_in, settings_.lease / 4);
  }
  return *held;
}

// Somebody listens as the leader of an election without a record. After its lease nobody can still
// believe in it who has not written it anew. Between looks that are far apart it may have been.
void RedisStore::vanished(const std::string& record, Duration lease) {
  const auto [found, is_new] = vanished_.try_emplace(record, Vanished{now(), now()});
  Vanished& seen = found->second;
  if (!is_new && now() - seen.last > settings_.lease / 2) seen.since = now();
  seen.last = now();
  seen.lease = std::max(lease, settings_.lease);
}

bool RedisStore::is_patient(const std::string& record) const {
  const auto found = vanished_.find(record);
  if (found == vanished_.end()) return false;
  const Vanished& seen = found->second;
  return now() - seen.last <= settings_.lease / 2 && now() - seen.since >= seen.lease;
}

// Whoever is held back in favour of others is told when its own time has come: perhaps none of them
// is alive.
void RedisStore::remind(const Bid& bid, Duration wait) {
  loop_->post_at(now() + wait,
                 calls_.while_alive([this, record = key(bid.election), candidate = bid.candidate] {
                   spots_.tell_turn(record, candidate);
                 }));
}

// ---------------------------------------------------------------- administer

Operation RedisStore::inspect(std::string election, std::function<void(InspectAnswer)> done) {
  if (auto error = check_election_name(election)) {
    return calls_.reply(std::move(done), InspectAnswer{Refused{*std::move(error)}});
  }
  const std::string record = key(election);
  return ask<InspectAnswer>(std::move(done), redis::inspect,
                            {record, queue_key(record), waiting_key(record), metadata_key(record)},
                            {}, [this, record](const Result<Delivered>& got) -> InspectAnswer {
                              auto inspection = got ? inspection_in(got->reply) : std::nullopt;
                              if (inspection) return *std::move(inspection);
                              return not_understood<InspectAnswer>(got, record, "a look");
                            });
}

Operation RedisStore::end(std::string election, std::function<void(Answer)> done) {
  if (auto error = check_election_name(election)) {
    return calls_.reply(std::move(done), Answer{Refused{*std::move(error)}});
  }
  const std::string record = key(election);
  return ask<Answer>(std::move(done), redis::end,
                     {record, queue_key(record), waiting_key(record), metadata_key(record)}, {},
                     [this, record](const Result<Delivered>& got) -> Answer {
                       const auto word = got ? word_in(got->reply) : std::string_view{};
                       if (word == "DONE") return Done{};
                       if (word == "GONE") return Gone{};
                       return not_understood<Answer>(got, record, "an end");
                     });
}

Operation RedisStore::remove(std::string election, Remains remains,
                             std::function<void(Answer)> done) {
  if (auto error = check_election_name(election)) {
    return calls_.reply(std::move(done), Answer{Refused{*std::move(error)}});
  }
  const std::string record = key(election);
  return ask<Answer>(
      std::move(done), redis::remove,
      {record, queue_key(record), waiting_key(record), metadata_key(record)},
      {remains == Remains::trace ? "trace" : "nothing"},
      [this, record](const Result<Delivered>& got) -> Answer {
        const auto word = got ? word_in(got->reply) : std::string_view{};
        if (word == "DONE") return Done{};
        if (word == "GONE") return Gone{};
        if (word == "HELD") {
          return Refused{refusal(ErrorCode::invalid_state,
                                 "the election is held: end it first, then remove it")};
        }
        if (word == "BELIEVED") {
          return Refused{
              {ErrorCode::invalid_state,
               "the last holder of the election may not have heard of its end: try again "
               "when its lease is over",
               true, false}};
        }
        return not_understood<Answer>(got, record, "a removal");
      });
}

Operation RedisStore::check(std::function<void(CheckAnswer)> done) {
  const auto call = calls_.begin<CheckAnswer>(std::move(done));
  const auto go_on = [this, call](const Result<Inbox::Refusals>& listening) {
    commands_->prepare(
        calls_.while_alive([this, call, listening](const std::optional<Error>& failed) {
          if (failed) return calls_.answer(call, CheckAnswer{Unknown{*failed}});
          examine(*commands_, {settings_, settings_.prefix + "doctor", listening},
                  calls_.while_alive([this, call](Result<std::vector<Finding>> found) {
                    if (!found) return calls_.answer(call, CheckAnswer{Unknown{found.error()}});
                    calls_.answer(call, CheckAnswer{*std::move(found)});
                  }));
        }));
  };
  if (inbox_) {
    inbox_->try_rights(settings_.prefix + "doctor", calls_.while_alive(go_on));
  } else {
    go_on(Inbox::Refusals{});
  }
  return call->operation;
}

}  // namespace conclave::redis
