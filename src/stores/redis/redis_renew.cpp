// Renewals, many in one request, and how a term is given back.
#include <conclave/names.hpp>

#include "stores/redis/keys.hpp"
#include "stores/redis/redis_calls.hpp"

namespace conclave::redis {
namespace {

// More in one script would keep other users of the server waiting.
constexpr std::size_t renewals_at_a_time = 100;

// The first in line should have taken the place by then.
constexpr Duration announced_after = wake_stagger;

}  // namespace

struct RedisStore::Renewing {
  Operation operation{};
  std::vector<Renewal> due;
  std::function<void(std::size_t, RenewAnswer)> done;
  std::vector<bool> answered;
  std::size_t open = 0;
};

Operation RedisStore::renew(std::vector<Renewal> due,
                            std::function<void(std::size_t, RenewAnswer)> done) {
  const auto renewing = std::make_shared<Renewing>();
  renewing->operation = calls_.number();
  renewing->due = std::move(due);
  renewing->done = std::move(done);
  renewing->open = renewing->due.size();
  renewing->answered.resize(renewing->due.size());
  const auto all = [this, renewing](const Error& error) {
    const auto alive = calls_.alive();
    for (std::size_t i = 0; i < renewing->due.size() && !alive.expired(); ++i) {
      tell_renewed(renewing, i, Unknown{error});
    }
  };
  if (renewing->open == 0) return renewing->operation;
  calls_.begin(renewing->operation, [this, all] { all(given_up(commands_->where())); });
  commands_->prepare(calls_.while_alive([this, renewing, all](const std::optional<Error>& failed) {
    if (failed) return all(*failed);
    if (renewing->open == 0) return;
    for (std::size_t first = 0; first < renewing->due.size(); first += renewals_at_a_time) {
      renew_some(renewing, first, std::min(renewals_at_a_time, renewing->due.size() - first));
    }
  }));
  return renewing->operation;
}

void RedisStore::renew_some(const RenewingPtr& renewing, std::size_t first, std::size_t count) {
  Command keys;
  Command arguments;
  keys.reserve(count);
  arguments.reserve(2 * count);
  for (std::size_t i = first; i < first + count; ++i) {
    const Renewal& each = renewing->due[i];
    keys.push_back(key(each.election));
    arguments.push_back(to_text(each.attempt));
    arguments.push_back(std::to_string(each.term.value));
  }
  commands_->run(redis::renew, keys, arguments,
                 calls_.while_alive([=, this](const Result<Delivered>& answer) {
                   renewed_some(renewing, first, count, answer);
                 }));
}

void RedisStore::renewed_some(const RenewingPtr& renewing, std::size_t first, std::size_t count,
                              const Result<Delivered>& answer) {
  const auto* const words = answer ? elements_in(answer->reply) : nullptr;
  const auto alive = calls_.alive();
  if (words == nullptr || words->size() != count) {
    const auto trouble =
        not_understood<RenewAnswer>(answer, key(renewing->due[first].election), "a renewal");
    for (std::size_t i = first; i < first + count && !alive.expired(); ++i) {
      tell_renewed(renewing, i, trouble);
    }
    return;
  }
  for (std::size_t i = 0; i < count && !alive.expired(); ++i) {
    const std::string* const word = text_in((*words)[i]);
    renewed(renewing, first + i, word != nullptr ? std::string_view(*word) : std::string_view{},
            answer->sent);
  }
}

void RedisStore::renewed(const RenewingPtr& renewing, std::size_t index, std::string_view word,
                         Instant sent) {
  const Renewal& renewal = renewing->due[index];
  if (word == "renewed") return tell_renewed(renewing, index, Renewed{sent});
  if ((word == "gone" || word == "older") && renewal.valid) return repair(renewing, index);
  const std::string record = key(renewal.election);
  const auto lost = [&](LossReason why) {
    leads_no_more(record, renewal.attempt);
    tell_renewed(renewing, index, TermLost{why});
  };
  if (word == "gone" || word == "older" || word == "lost") return lost(LossReason::record_gone);
  if (word == "superseded") return lost(LossReason::superseded);
  if (word == "ended") return lost(LossReason::election_ended);
  // The record is not ours to touch, but what is in its place may go again.
  Fault fault{nonsense_reply(commands_->where(), "a renewal"), false};
  if (word == "other" || word == "FOREIGN") {
    fault = fault_in({RedisReply::Elements{{std::string("FOREIGN")}}}, asked(record), "a renewal");
  } else if (word == "newer" || word == "NEWER") {
    fault = fault_in({RedisReply::Elements{{std::string("NEWER")}}}, asked(record), "a renewal");
  }
  if (fault.definite) return tell_renewed(renewing, index, Refused{std::move(fault.error)});
  tell_renewed(renewing, index, Unknown{std::move(fault.error)});
}

// The server has lost the record, or has an older one: it is written anew. Only for one who
// believes in its term.
void RedisStore::repair(const RenewingPtr& renewing, std::size_t index) {
  if (renewing->answered[index]) return;
  const Renewal& renewal = renewing->due[index];
  const std::string record = key(renewal.election);
  const Spot* const spot = spots_.find(record);
  const bool ours = spot != nullptr && spot->led == renewal.attempt;
  const std::string metadata = ours && spot->metadata ? *spot->metadata : std::string{};
  commands_->prepare(calls_.while_alive([=, this](const std::optional<Error>& failed) {
    if (failed) return tell_renewed(renewing, index, Unknown{*failed});
    const Renewal& each = renewing->due[index];
    commands_->run(
        redis::repair, {record, metadata_key(record)},
        {to_text(each.attempt), std::to_string(each.term.value), to_micros(settings_.lease),
         each.candidate, metadata},
        calls_.while_alive([=, this](const Result<Delivered>& answer) {
          const std::string_view word = answer ? word_in(answer->reply) : std::string_view{};
          if (!word.empty()) return renewed(renewing, index, word, answer->sent);
          tell_renewed(renewing, index, not_understood<RenewAnswer>(answer, record, "a repair"));
        }));
  }));
}

// Nothing of the store is touched afterwards.
void RedisStore::tell_renewed(const RenewingPtr& renewing, std::size_t index, RenewAnswer with) {
  if (renewing->answered[index]) return;
  renewing->answered[index] = true;
  renewing->open -= 1;
  if (renewing->open == 0) calls_.end(renewing->operation);
  // Whoever is told may drop the last other one.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const auto keep = renewing;
  keep->done(index, std::move(with));
}

// ---------------------------------------------------------------- resign

Operation RedisStore::resign(Resignation resignation, std::function<void(Answer)> done) {
  if (auto error = check_election_name(resignation.election)) {
    return calls_.reply(std::move(done), Answer{Refused{*std::move(error)}});
  }
  const std::string record = key(resignation.election);
  vanished_.erase(record);
  // Who resigns does not believe in it any more. But the next one is told first.
  done = [this, record, attempt = resignation.attempt, done = std::move(done)](Answer answer) {
    leads_no_more(record, attempt);
    done(std::move(answer));
  };
  Command arguments{to_text(resignation.attempt),
                    resignation.term ? std::to_string(resignation.term->value) : "",
                    resignation.was_valid ? "released" : "abandoned"};
  return ask<Answer>(
      std::move(done), redis::resign,
      {record, queue_key(record), waiting_key(record), metadata_key(record)}, std::move(arguments),
      [this, resignation = std::move(resignation)](const Result<Delivered>& got) -> Answer {
        const auto word = got ? word_in(got->reply) : std::string_view{};
        if (word == "DONE") return resigned(resignation, got->reply);
        if (word == "GONE") return Gone{};
        return not_understood<Answer>(got, key(resignation.election), "a resignation");
      });
}

// Only those who stand first were told that the place is free: a message to everybody would keep
// the server from answering them.
Answer RedisStore::resigned(const Resignation& resignation, const RedisReply& reply) {
  if (elements_in(reply)->size() > 1 && resignation.term) {
    loop_->post_at(now() + announced_after,
                   calls_.while_alive([this, record = key(resignation.election),
                                       term = *resignation.term] { announce(record, term); }));
  }
  return Done{};
}

void RedisStore::announce(const std::string& record, Term term) {
  commands_->prepare(calls_.while_alive([this, record, term](const std::optional<Error>& failed) {
    if (failed) return;
    commands_->run(redis::announce,
                   {record, queue_key(record), waiting_key(record), metadata_key(record)},
                   {std::to_string(term.value)}, [](const Result<Delivered>&) {});
  }));
}

}  // namespace conclave::redis
