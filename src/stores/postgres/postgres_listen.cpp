// What the server tells, and who is told of it here.
#include "stores/postgres/postgres_calls.hpp"
#include "stores/postgres/texts.hpp"

namespace conclave::postgres {
namespace {

constexpr std::size_t most_waiters = 2;
constexpr std::size_t looks_at_a_time = 500;

}  // namespace

std::unique_ptr<Session> PostgresStore::make_side() {
  return std::make_unique<Session>(
      *loop_, settings_,
      Session::Handlers{
          .setup =
              [this] {
                return std::vector<Statement>{{std::string(greet_side),
                                               {std::to_string(side_.backend_pid()),
                                                in_milliseconds(settings_->request_timeout / 2)}}};
              },
          .greeted =
              [this](const std::vector<Delivered>& said, PGconn*) {
                const std::string* const word = said.front().rows.text(0, 0);
                sees_no_locks_ =
                    settings_->mode == PostgresMode::advisory && word != nullptr && *word == "t";
                const std::string* const server = said.front().rows.text(0, 1);
                told_by_ = server != nullptr ? *server : std::string{};
                is_listening();
                return std::optional<Error>{};
              },
          .notified = [this](const std::string&, const std::string& letter) { heard(letter); }},
      // A mark is not waited for so long, but what is listened to there is not given up for it.
      Session::Keeping{.tolerance = settings_->request_timeout});
}

Operation PostgresStore::observe(std::string election, std::string candidate, Sink sink) {
  const Operation operation = calls_.number();
  if (ears_.listen(election, candidate, operation, std::move(sink))) to_hear_.insert(election);
  side_.open();
  look_soon(election);
  return operation;
}

// Not through a pooler; and a session with a lock must not listen.
bool PostgresStore::is_told() const {
  return !is_adopted_ && side_.is_established() && !side_.is_pooled();
}

// A new connection: nothing is listened to there yet, and much may have been missed.
void PostgresStore::is_listening() {
  to_hear_.clear();
  for (const std::string& each : ears_.elections()) {
    to_hear_.insert(each);
    look_soon(each);
  }
}

// Everybody may write such letters, and those of another schema come here, too: what is led here is
// looked at, and a term that was not seen in the row is not told.
void PostgresStore::heard(const std::string& letter) {
  const auto mail = letter_in(letter);
  if (!mail || !ears_.is_heard(mail->election)) return;
  if (!mail->vacancy || led_.contains(mail->election)) return look_soon(mail->election);
  if (mail->term < ears_.term_of(mail->election)) return;  // old news
  *mail->vacancy == Vacancy::released ? is_handed_over(*mail) : is_vacant(*mail);
}

// It is asked for in the next breath, unless others have waited for longer. That nobody leads is
// told a moment later, if it still is so: all would wake up while the one who asks wants to run.
void PostgresStore::is_handed_over(const Letter& letter) {
  const auto alive = calls_.alive();
  Courtesy& courtesy = courtesies_[letter.election];
  courtesy.is_over(letter.term);
  const auto first = courtesy.who_asks(ears_.waiting(letter.election));
  if (!first.empty()) {
    released_ = letter.election;
    ears_.ask(letter.election, first);
    if (alive.expired()) return;
  }
  loop_->post_at(now() + head_start, calls_.while_alive([this, letter] {
    if (led_.contains(letter.election) || letter.term < ears_.term_of(letter.election)) return;
    released_ = letter.election;
    is_vacant(letter);
  }));
}

void PostgresStore::is_vacant(const Letter& letter) {
  const Term known = ears_.term_of(letter.election);
  ears_.note_holder(letter.election, 0, {}, now());
  if (letter.term != known) return ears_.tell(letter.election, YourTurn{});
  ears_.tell(letter.election, Vacant{*letter.vacancy, letter.term});
}

bool PostgresStore::is_polling() const { return is_adopted_ || side_.is_pooled(); }

// Where nothing is told, those who follow look: often when something has changed, as in a
// deployment that goes from one to the next, and then less and less.
void PostgresStore::look_again() {
  if (!is_polling() || std::exchange(looks_again_, true)) return;
  look_pause_ = std::clamp(2 * look_pause_, settings_->lease / 32, settings_->lease / 4);
  loop_->post_at(now() + look_pause_, calls_.while_alive([this] {
    looks_again_ = false;
    for (const std::string& each : ears_.elections()) {
      if (!led_.contains(each)) look_soon(each);
    }
    if (to_look_.empty()) look_again();  // else when that was seen
  }));
}

// The locks are free, and whoever waits for them is told so at this moment.
void PostgresStore::is_lost(const Error&) {
  in_doubt_.clear();
  // What was the matter there may be the matter with the session that listens.
  if (own_side_ && side_.is_idle()) side_.send({"select 1", {}}, [](const Result<Delivered>&) {});
  if (traits_.judge != LeaseJudge::session) return;
  const auto alive = calls_.alive();
  for (const auto& [election, led] : std::exchange(led_, {})) {
    ears_.tell(election, SessionLost{});
    if (alive.expired()) return;
  }
}

// ---------------------------------------------------------------- looks

void PostgresStore::look_soon(const std::string& election) {
  if (!ears_.is_heard(election)) return;
  to_look_.insert(election);
  look_next();
}

void PostgresStore::look_next() {
  if ((to_look_.empty() && to_hear_.empty()) || std::exchange(look_planned_, true)) return;
  loop_->post(calls_.while_alive([this] { look(); }));
}

// So many at a time that none runs out of patience behind the others, and what is new is listened
// to first, on the same session: a change after the look is told.
void PostgresStore::look() {
  side_.prepare(calls_.while_alive([this](const std::optional<Error>& failed) {
    if (failed) waiters_.clear();
    if (failed || sees_no_locks_) return look_later({});
    listen_to_some();
    std::vector<std::string> elections;
    Array names;
    for (const std::string& each : to_look_) {
      if (elections.size() == looks_at_a_time) break;
      if (to_hear_.contains(each)) continue;
      elections.push_back(each);
      names.add(each);
    }
    for (const std::string& each : elections) to_look_.erase(each);
    side_.send(often(verbs_.look, {names.text(), own_life()}),
               calls_.while_alive([this, elections](const Result<Delivered>& answer) {
                 looked(elections, answer);
               }));
  }));
}

// Where it fails with its connection, the next one is told anew.
void PostgresStore::listen_to_some() {
  std::string all;
  std::vector<std::string> some;
  for (std::size_t count = 0; count < looks_at_a_time && !to_hear_.empty(); ++count) {
    const std::string election = std::move(to_hear_.extract(to_hear_.begin()).value());
    some.push_back(election);
    all += (ears_.is_heard(election) ? "listen " : "unlisten ") + channel(election) + ";";
  }
  if (all.empty() || !is_told()) return;
  side_.send({"do $conclave$ begin " + all + " end $conclave$", {}},
             calls_.while_alive([this, some = std::move(some)](const Result<Delivered>& answer) {
               if (answer || !side_.is_established()) return;
               to_hear_.insert(some.begin(), some.end());
               look_later(some);
             }));
}

void PostgresStore::look_later(const std::vector<std::string>& elections) {
  to_look_.insert(elections.begin(), elections.end());
  look_planned_ = true;
  loop_->post_at(now() + settings_->request_timeout, calls_.while_alive([this] { look(); }));
}

// Without tables a record does not say whose bid it was. One of ours whose answer is still under
// way would look like the term of somebody else, above which ours has to be.
bool PostgresStore::is_unanswered(const std::string& election, const Record& record) const {
  return !settings_->tables && !led_.contains(election) &&
         record.leader == "session " + std::to_string(home_.backend_pid());
}

void PostgresStore::looked(const std::vector<std::string>& elections,
                           const Result<Delivered>& answer) {
  if (!answer && !has_no_tables(answer.error())) return look_later(elections);
  look_planned_ = false;
  look_next();
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
    if (record != nullptr && is_unanswered(each, *record)) continue;
    if (std::holds_alternative<Ended>(*seen)) led_.erase(each);
    const bool is_new =
        ears_.note_holder(each, record != nullptr ? life_in(answer->rows, row->second, 12, 11) : 0,
                          record != nullptr ? record->term : Term{}, now());
    if (is_new) look_pause_ = {};
    if (record != nullptr && released_ == each) released_.clear();
    if (record != nullptr && !led_.contains(each)) has_leader(each, record->leader, record->term);
    ears_.tell(each, *seen);
    if (alive.expired()) return;
    // Without tables nobody knows the last term, and whoever has seen one takes that for old news.
    if (!settings_->tables && record == nullptr && !led_.contains(each)) {
      ears_.tell(each, YourTurn{});
    }
    if (alive.expired()) return;
  }
  watch_lives();
  look_again();
}

// ---------------------------------------------------------------- the end of others

void PostgresStore::watch_lives() {
  if (traits_.judge != LeaseJudge::session) return;  // by the clock, a dead session is not the end
  // There is nobody to wait, or connections are counted: looks have to do.
  if (is_polling() || home_.backend() || !has_home_) return;
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
  for (const auto& [election, term] : ears_.end_of(life, now() + settings_->lease)) {
    ears_.tell(election, Vacant{Vacancy::ended, term});
    if (alive.expired()) return;
  }
}

}  // namespace conclave::postgres
