// What the server tells, and who is told of it here.
#include "stores/postgres/postgres_calls.hpp"
#include "stores/postgres/texts.hpp"

namespace conclave::postgres {
namespace {

constexpr std::size_t most_waiters = 2;

}  // namespace

Operation PostgresStore::observe(std::string election, std::string, Sink sink) {
  const Operation operation = calls_.number();
  const bool first = ears_.listen(election, operation, std::move(sink));
  if (first && side_.is_established() && !side_.is_pooled()) {
    side_.send({"listen " + channel(election)}, [](const Result<Delivered>&) {});
  }
  side_.open();
  look_soon(election);  // on the same session, so after it listens
  return operation;
}

// A new connection: nothing is listened to there yet, and much may have been missed.
void PostgresStore::is_listening() {
  for (const std::string& each : ears_.elections()) {
    if (!side_.is_pooled()) {
      side_.send({"listen " + channel(each)}, [](const Result<Delivered>&) {});
    }
    look_soon(each);
  }
  if (side_.is_pooled()) look_again();
}

// That a place is free is told on the spot, and asked for in the next breath; who leads is looked
// at.
void PostgresStore::heard(const std::string& letter) {
  const auto mail = letter_in(letter);
  if (!mail) return;
  if (mail->vacancy) {
    ears_.is_held_by(mail->election, 0, {});
    if (*mail->vacancy == Vacancy::released) released_ = mail->election;
    return ears_.tell(mail->election, Vacant{*mail->vacancy, mail->term});
  }
  look_soon(mail->election);
}

// Through a pooler nothing is told: those who follow are looked for.
void PostgresStore::look_again() {
  if (std::exchange(looks_again_, true)) return;
  loop_->post_at(now() + settings_->lease / 4, calls_.while_alive([this] {
    looks_again_ = false;
    for (const std::string& each : ears_.elections()) {
      if (!led_.contains(each)) look_soon(each);
    }
    look_again();
  }));
}

// The locks are free, and whoever waits for them is told so at this moment.
void PostgresStore::is_lost(const Error&) {
  if (traits_.judge != LeaseJudge::session) return;
  const auto alive = calls_.alive();
  for (const auto& [election, attempt] : std::exchange(led_, {})) {
    ears_.tell(election, SessionLost{});
    if (alive.expired()) return;
  }
}

// ---------------------------------------------------------------- looks

void PostgresStore::look_soon(const std::string& election) {
  if (!ears_.is_heard(election)) return;
  to_look_.insert(election);
  if (std::exchange(look_planned_, true)) return;
  loop_->post(calls_.while_alive([this] { look(); }));
}

void PostgresStore::look() {
  look_planned_ = false;
  std::vector<std::string> elections;
  Array names;
  for (const std::string& each : std::exchange(to_look_, {})) {
    elections.push_back(each);
    names.add(each);
  }
  side_.prepare(calls_.while_alive(
      [this, elections, names = names.text()](const std::optional<Error>& failed) {
        if (failed) return looked(elections, *failed);
        side_.send(often(postgres::look, {names}),
                   calls_.while_alive([this, elections](const Result<Delivered>& answer) {
                     looked(elections, answer);
                   }));
      }));
}

void PostgresStore::looked(const std::vector<std::string>& elections,
                           const Result<Delivered>& answer) {
  if (!answer && !has_no_tables(answer.error())) {  // later
    to_look_.insert(elections.begin(), elections.end());
    if (std::exchange(look_planned_, true)) return;
    loop_->post_at(now() + settings_->request_timeout, calls_.while_alive([this] { look(); }));
    return;
  }
  std::map<std::string_view, std::size_t> rows;
  for (std::size_t i = 0; answer && i < answer->rows.size(); ++i) {
    if (const auto* const name = answer->rows.text(i, 0)) rows.emplace(*name, i);
  }
  const auto alive = calls_.alive();
  for (const std::string& each : elections) {
    const auto row = rows.find(each);
    const auto seen = row != rows.end() ? observed_in(answer->rows, row->second)
                                        : Observation{Vacant{Vacancy::absent, {}}};
    if (!seen) continue;
    const auto* const record = std::get_if<Record>(&*seen);
    ears_.is_held_by(each, record != nullptr ? life_in(answer->rows, row->second, 12, 11) : 0,
                     record != nullptr ? record->term : Term{});
    ears_.tell(each, *seen);
    if (alive.expired()) return;
  }
  watch_lives();
}

// ---------------------------------------------------------------- the end of others

void PostgresStore::watch_lives() {
  if (traits_.judge != LeaseJudge::session) return;  // by the clock, a dead session is not the end
  const auto next = [this]() -> std::optional<std::int64_t> {
    std::vector<std::int64_t> taken{home_.life()};
    for (const auto& each : waiters_) {
      if (each->life()) taken.push_back(*each->life());
    }
    return ears_.busiest(taken);
  };
  for (const auto& each : waiters_) each->go_on();
  while (waiters_.size() < most_waiters && next()) {
    waiters_.push_back(std::make_unique<Waiter>(*loop_, settings_, next,
                                                [this](std::int64_t life) { is_gone(life); }));
    waiters_.back()->go_on();
  }
}

void PostgresStore::is_gone(std::int64_t life) {
  const auto alive = calls_.alive();
  for (const auto& [election, term] : ears_.held_by(life)) {
    ears_.is_held_by(election, 0, {});
    ears_.tell(election, Vacant{Vacancy::ended, term});
    if (alive.expired()) return;
  }
}

}  // namespace conclave::postgres
