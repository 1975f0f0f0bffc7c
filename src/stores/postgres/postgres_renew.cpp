// Renewals, many in one statement, and how a term is given back.
#include <utility>

#include <conclave/names.hpp>

#include "stores/postgres/answers.hpp"
#include "stores/postgres/postgres_calls.hpp"
#include "stores/postgres/texts.hpp"

namespace conclave::postgres {

struct PostgresStore::Renewing {
  Operation operation{};
  std::vector<Renewal> due;
  std::function<void(std::size_t, RenewAnswer)> done;
  std::vector<bool> answered;
  std::size_t open = 0;
  bool found_no_tables = false;
};

Operation PostgresStore::renew(std::vector<Renewal> due,
                               std::function<void(std::size_t, RenewAnswer)> done) {
  const auto renewing = std::make_shared<Renewing>();
  renewing->operation = calls_.number();
  renewing->due = std::move(due);
  renewing->done = std::move(done);
  renewing->open = renewing->due.size();
  renewing->answered.resize(renewing->due.size());
  if (renewing->open == 0) return renewing->operation;
  calls_.begin(renewing->operation,
               [this, renewing] { renewed(renewing, given_up(home_.where())); });
  renew_again(renewing);
  return renewing->operation;
}

void PostgresStore::renew_again(const RenewingPtr& renewing) {
  home_.prepare(calls_.while_alive([this, renewing](const std::optional<Error>& failed) {
    if (failed) return renewed(renewing, *failed);
    if (renewing->open == 0) return;
    Array names, attempts, terms;
    for (const Renewal& each : renewing->due) {
      names.add(each.election);
      attempts.add(to_text(each.attempt));
      terms.add(static_cast<std::int64_t>(each.term.value));
    }
    home_.send(often(verbs_.renew, {names.text(), attempts.text(), terms.text(),
                                    std::to_string(home_.life()), home_.kind()}),
               calls_.while_alive([this, renewing](const Result<Delivered>& answer) {
                 // They are made anew, or what keeps them from it is told.
                 const bool is_bare = !answer && has_no_tables(answer.error());
                 if (is_bare && !std::exchange(renewing->found_no_tables, true)) {
                   return renew_again(renewing);
                 }
                 renewed(renewing, answer);
               }));
  }));
}

void PostgresStore::renewed(const RenewingPtr& renewing, const Result<Delivered>& answer) {
  const auto alive = calls_.alive();
  const auto all = [&](const Error& error) {
    for (std::size_t i = 0; i < renewing->due.size() && !alive.expired(); ++i) {
      tell_renewed(renewing, i, Unknown{error});
    }
  };
  if (!answer) return all(answer.error());
  if (answer->replication_cancelled) return all(not_replicated(home_.where()));
  const Rows& rows = answer->rows;
  if (rows.size() != renewing->due.size()) return all(nonsense(home_.where()));
  if (home_.is_elsewhere(rows.number(0, 4))) {
    all(home_.shared());
    if (!alive.expired()) home_.leave(home_.shared());
    return;
  }
  // Something of ours was taken or ended: this statement may have read the rows before that, and
  // waited for our own row until after it.
  if (const auto news = rows.number(0, 2); news && *news != home_.news) {
    home_.news = *news;
    return renew_again(renewing);
  }
  const std::int64_t life = home_.life();
  if (has_lost_life(rows, 3)) home_.lose_life();
  for (std::size_t i = 0; i < rows.size() && !alive.expired(); ++i) {
    auto with = renewed_in(rows, i, answer->sent, home_.where());
    const Renewal& due = renewing->due[i];
    if (auto* const lost = std::get_if<TermLost>(&with)) {
      // The record may be there: what it was granted with, a lock, has gone with its session.
      const auto led = led_.find(due.election);
      const bool was_locked = settings_->mode == PostgresMode::advisory && led != led_.end();
      if (lost->why == LossReason::record_gone && was_locked && led->second.life != life) {
        lost->why = LossReason::session_lost;
      }
      is_led_no_more(due.election, due.attempt, due.term);
      rest_after(head_start);
    }
    tell_renewed(renewing, i, std::move(with));
  }
}

void PostgresStore::tell_renewed(const RenewingPtr& renewing, std::size_t index, RenewAnswer with) {
  if (renewing->answered.at(index)) return;
  renewing->answered[index] = true;
  renewing->open -= 1;
  if (renewing->open == 0) calls_.end(renewing->operation);
  const auto done = renewing->done;  // it may end the life of the store
  done(index, std::move(with));
}

// ---------------------------------------------------------------- resign

Operation PostgresStore::resign(Resignation resignation,
                                std::function<void(conclave::Answer)> done) {
  if (auto error = check_election_name(resignation.election))
    return calls_.reply(std::move(done), conclave::Answer{Refused{*std::move(error)}});
  const bool was_led = is_led_no_more(resignation.election, resignation.attempt, resignation.term);
  ears_.waits(resignation.election, resignation.candidate, false);
  const auto call = calls_.begin<conclave::Answer>(std::move(done));
  const Operation operation = call->operation;
  const bool is_aside = was_led && may_mark_aside();
  is_aside ? mark_aside(resignation, call) : mark_at_home(resignation, call);
  return operation;
}

// On the session that listens: then it need not be woken to hear its own letter, and whoever gets
// the place has that much more of the machine to itself. Only on the same server, and behind
// nothing that is under way at home: a renewal or a bid must not be executed after the mark.
bool PostgresStore::may_mark_aside() const {
  return settings_->tables && is_told() && home_.sees_crashes() && home_.is_idle() &&
         told_by_ == home_.server();
}

void PostgresStore::mark_aside(const Resignation& resignation,
                               const net::CallPtr<conclave::Answer>& call) {
  Statement statement = mark(resignation, {});          // said for the whole session
  statement.patience = settings_->request_timeout / 2;  // the rest is for the other session
  leaving_ += 1;
  side_.send(std::move(statement),
             calls_.while_alive([this, resignation, call](const Result<Delivered>& answer) {
               leaving_ -= 1;
               if (!answer || answer->rows.empty()) return mark_at_home(resignation, call);
               is_marked(resignation.attempt);
               leave_if_idle();  // before whoever is told ends the life of this
               calls_.answer(call, conclave::Answer{Done{}});
             }));
}

void PostgresStore::mark_at_home(const Resignation& resignation,
                                 const net::CallPtr<conclave::Answer>& call) {
  put(home_, call, mark(resignation, home_.sees_crashes()),
      [this, attempt = resignation.attempt](const Delivered& answer) -> conclave::Answer {
        is_marked(attempt);
        if (answer.rows.empty()) return Gone{};
        return Done{};
      });
}

Statement PostgresStore::mark(const Resignation& resignation,
                              std::optional<bool> may_be_forgotten) const {
  std::optional<std::string> term, forgotten;
  if (resignation.term) term = std::to_string(resignation.term->value);
  if (may_be_forgotten) forgotten = *may_be_forgotten ? "t" : "f";
  return often(verbs_.resign, {resignation.election, to_text(resignation.attempt), term,
                               resignation.was_valid ? "released" : "abandoned",
                               channel(resignation.election), forgotten});
}

void PostgresStore::is_marked(const Attempt& attempt) {
  in_doubt_.erase(attempt);
  rest_after(head_start);  // when the next leader has the server's answer
}

// The session with the lock has a lease as long as something is led on it, or may be.
void PostgresStore::rest_after(Duration pause) {
  if (settings_->mode != PostgresMode::advisory || std::exchange(rest_planned_, true)) return;
  loop_->post_at(now() + pause, calls_.while_alive([this] {
    rest_planned_ = false;
    if (!led_.empty()) return;
    if (bidding_ || !in_doubt_.empty()) return rest_after(settings_->request_timeout);
    home_.rest();
  }));
}

}  // namespace conclave::postgres
