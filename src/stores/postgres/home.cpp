#include "stores/postgres/home.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "stores/postgres/adopted.hpp"
#include "stores/postgres/shape.hpp"
#include "stores/postgres/texts.hpp"
#include "stores/postgres/trouble.hpp"

namespace conclave::postgres {
namespace {

constexpr std::int64_t oldest_version = 140000;  // that has idle_session_timeout

// After the shape of the tables; whether they are there, and ours.
constexpr std::string_view greeting = R"sql(
select pg_is_in_recovery(), current_setting('transaction_read_only'), current_setting('server_version_num')::int,
  (extract(epoch from clock_timestamp() - pg_postmaster_start_time()) * 1000000)::bigint,
  case when pg_is_in_recovery() then '' else substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end,
  extract(epoch from pg_postmaster_start_time()), (select bool_and(found is not null) from ours) and not exists (select from misfit)
)sql";

// Only on a session of our own: a pooler would hand the lock and the setting on to others. As long
// as it holds nothing, it may be idle.
constexpr std::string_view begin_life = R"sql(
select case when current_setting('idle_session_timeout', true) is not null then set_config('idle_session_timeout', '0', false) end,
  set_config('lock_timeout', $1, false), pg_try_advisory_lock($2::bigint) where $3::int is null or pg_backend_pid() = $3
)sql";

// The same without a lock. Whoever waits for a row keeps others from what it has locked.
constexpr std::string_view limit_waits =
    "select set_config('lock_timeout', $1, false) where pg_backend_pid() = $2::int";

constexpr std::string_view may_be_silent =
    "select set_config('idle_session_timeout', '0', false) where $1::int is null or "
    "pg_backend_pid() = $1";

// After a life that was lost while its session goes on: the lock of the old one is free, too.
constexpr std::string_view next_life = R"sql(
select pg_try_advisory_lock($1::bigint), case when $2::bigint <> 0 then pg_advisory_unlock($2) end
where $3::int is null or pg_backend_pid() = $3
)sql";

constexpr std::string_view join_locks_alone =
    "select pg_try_advisory_lock_shared($1::bigint) where $2::int is null or pg_backend_pid() = $2";
constexpr std::string_view leave_locks_alone = "select pg_advisory_unlock_shared($1::bigint)";

// Since when it decides.
constexpr std::string_view note = R"sql(
with clock as materialized (select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now),
made as (
  insert into {server} (timeline, since) select $1, clock.now from clock
  on conflict (timeline) do nothing returning since)
select clock.now - coalesce((select since from made), (select since from {server} where timeline = $1), clock.now) from clock
)sql";

std::int64_t random_life() {
  std::random_device random;
  return static_cast<std::int64_t>(((std::uint64_t{random()} << 32U) | random()) >> 1U) | 1;
}

Error refused(ErrorCode code, std::string sentence, bool retryable) {
  return {code, std::move(sentence), retryable, false};
}

}  // namespace

Home::Home(net::AsioLoop& loop, std::shared_ptr<const Settings> settings, const Tables& tables,
           Handlers handlers, std::shared_ptr<PGconn> adopted)
    : loop_(loop),
      settings_(std::move(settings)),
      tables_(tables),
      handlers_(std::move(handlers)),
      by_clock_(settings_->mode == PostgresMode::lease || settings_->strict),
      by_lock_(settings_->mode == PostgresMode::advisory),
      is_adopted_(adopted != nullptr),
      session_(loop, settings_,
               {.setup = [this] { return setup(); },
                .greeted = [this](const std::vector<Delivered>& answers,
                                  PGconn*) { return greeted(answers); },
                .lost =
                    [this](const Error& why) {
                      const std::weak_ptr alive = alive_;
                      const bool has_served = std::exchange(has_served_, false);
                      is_settled(why);
                      if (has_served && !alive.expired()) handlers_.lost(why);
                    }},
               // A lock session that is closed too early frees the lock while its holder still
               // believes in it: it is kept until no term on it can be valid.
               {.tolerance = is_adopted_ ? patience_with_adopted(*settings_)
                             : by_lock_  ? settings_->lease
                                         : Duration::zero(),
                .awake = !by_lock_,
                .writes = !is_adopted_},
               std::move(adopted)) {}

std::string Home::kind() const { return kind_of(*settings_); }

Duration Home::age_at(Instant now) const noexcept { return age_ + (now - aged_at_); }

std::vector<Statement> Home::setup() {
  state_ = State::unsettled;
  probe_.reset();
  backend_ = 0;
  locked_life_ = 0;
  // With a lock: that of the old life is free, and what it held must not be kept by the new one.
  if (life_ != 0 && by_clock_ && !by_lock_) lives_before_.push_back(life_);
  life_ = random_life();
  std::vector<Statement> statements{
      {"with " + our_tables("to_regclass(name)") + std::string(greeting),
       {tables_.election, tables_.session, tables_.server}}};
  const std::string pid = std::to_string(session_.backend_pid());
  statements.push_back(by_lock_ ? lock(pid)
                                : Statement{std::string(limit_waits),
                                            {in_milliseconds(settings_->request_timeout), pid}});
  return statements;
}

Statement Home::lock(std::optional<std::string> backend) const {
  return {std::string(begin_life),
          {in_milliseconds(settings_->request_timeout), std::to_string(life_), std::move(backend)}};
}

std::optional<Error> Home::greeted(const std::vector<Delivered>& answers) {
  const Rows& said = answers.front().rows;
  const auto is = [](const Rows& rows, std::size_t column, std::string_view word) {
    const std::string* const text = rows.text(0, column);
    return text != nullptr && *text == word;
  };
  if (is(said, 0, "t")) {
    return is_standby(where());
  }
  if (is(said, 1, "on")) {
    return only_reads(where());
  }
  if (by_lock_ && said.number(0, 2).value_or(0) < oldest_version) {
    return refused(ErrorCode::unsupported,
                   where() + " is older than PostgreSQL 14: write mode=lease", false);
  }
  if (by_lock_ && is(answers.at(1).rows, 2, "t")) locked_life_ = life_;
  if (by_lock_ && locked_life_ == 0 && !answers.at(1).rows.empty()) {
    return taken();
  }
  // A restart frees the locks of holders that have not noticed. Whose clock was set back to before
  // its start is as old as we know it.
  age_ = by_clock_ ? Duration::max() / 4
                   : from_micros(std::max<std::int64_t>(said.number(0, 3).value_or(0), 0));
  aged_at_ = answers.front().received;  // it was not older when it said so
  timeline_ = said.text(0, 4) != nullptr ? *said.text(0, 4) : std::string{};
  server_ = said.text(0, 5) != nullptr ? *said.text(0, 5) : std::string{};
  has_tables_ = is(said, 6, "t");
  return std::nullopt;
}

// ---------------------------------------------------------------- settling

void Home::prepare(Session::Ready ready) {
  if (state_ == State::settled && session_.is_established()) return ready(std::nullopt);
  waiting_.push_back(std::move(ready));
  if (state_ == State::settling) return;
  state_ = State::settling;
  round_ += 1;
  session_.prepare(
      [this, round = round_, alive = std::weak_ptr(alive_)](const std::optional<Error>& failed) {
        if (alive.expired() || round != round_) return;
        failed ? is_settled(failed) : settle();
      });
}

// Somebody may have dropped the tables.
void Home::send(Statement statement, Session::Done done) {
  session_.send(std::move(statement), [this, done = std::move(done),
                                       alive = std::weak_ptr(alive_)](Result<Delivered> answer) {
    if (!alive.expired() && !answer && has_no_tables(answer.error()) && state_ == State::settled) {
      state_ = State::unsettled;
      has_tables_ = false;
    }
    done(std::move(answer));
  });
}

template <typename Act>
auto Home::while_settling(Act act) {
  return [this, act = std::move(act), round = round_,
          alive = std::weak_ptr(alive_)](const Result<Delivered>& answer) mutable {
    if (alive.expired() || round != round_ || state_ != State::settling) return;
    if (!answer) return is_settled(answer.error());
    act(*answer);
  };
}

void Home::settle() {
  state_ = State::settling;
  if (by_lock_ && locked_life_ == 0 && session_.is_pooled()) return probe();
  make_ready();
}

void Home::probe() {
  if (is_adopted_) {  // there is no second one to find out what kind it is
    return is_settled(refused(ErrorCode::unsupported,
                              where() +
                                  " is behind a pooler, where no lock may be ours alone: give "
                                  "a connection without one, or choose mode lease",
                              false));
  }
  probe_ = std::make_unique<PoolerProbe>(
      loop_, settings_, session_, [this, round = round_](const Result<std::int64_t>& ours) {
        probe_.reset();
        if (round != round_ || state_ != State::settling) return;
        ours ? lock_behind_pooler(*ours) : is_settled(ours.error());
      });
}

// All that may have been chance: so the lock has to be where we were before, every renewal has to
// be there, and nothing is granted elsewhere.
void Home::lock_behind_pooler(std::int64_t ours) {
  session_.send(lock(std::to_string(ours)), while_settling([this, ours](const Delivered& answer) {
                  const std::string* const word = answer.rows.text(0, 2);
                  if (word == nullptr || *word != "t") return is_settled(shared());
                  locked_life_ = life_;
                  backend_ = ours;
                  make_ready();
                }));
}

Error Home::taken() const {
  return refused(ErrorCode::unavailable, where() + " has somebody else with our random number",
                 true);
}

Error Home::shared() const { return shared_by_pooler(where()); }

void Home::leave(const Error& why) { session_.fail(why); }

std::int64_t Home::backend_pid() const { return backend_ != 0 ? backend_ : session_.backend_pid(); }

std::optional<std::string> Home::backend() const {
  return backend_ != 0 ? std::optional(std::to_string(backend_)) : std::nullopt;
}

bool Home::is_elsewhere(std::optional<std::int64_t> backend) const noexcept {
  return backend_ != 0 && backend && *backend != backend_;
}

void Home::make_ready() {
  if (!settings_->tables) return join_locks();
  if (has_tables_) return note_timeline();
  look_for_others();
}

// Nothing is built on a table of somebody else. Where all are there, the first statement fails.
void Home::look_for_others() {
  session_.send(look_around(tables_, *settings_), while_settling([this](const Delivered& answer) {
                  const Site site = site_in(answer.rows);
                  if (const auto why = hindrance(site, *settings_)) return is_settled(why);
                  if (!site.has_tables) return create_tables();
                  has_tables_ = true;  // meanwhile
                  note_timeline();
                }));
}

// As long as somebody goes by locks alone, nobody makes tables: each would have a leader of its
// own.
void Home::join_locks() {
  session_.send({std::string(join_locks_alone), {std::string(locks_alone), backend()}},
                while_settling([this](const Delivered& answer) {
                  const std::string* const word = answer.rows.text(0, 0);
                  if (word == nullptr) return leave(shared());
                  if (*word == "t") return look_for_tables();
                  is_settled(refused(ErrorCode::unavailable,
                                     where() + " is about to get tables for elections", true));
                }));
}

// With the lock: who made them before that had made them by then, and nobody makes them now.
void Home::look_for_tables() {
  session_.send(look_around(tables_, *settings_), while_settling([this](const Delivered& answer) {
                  const auto why = hindrance(site_in(answer.rows), *settings_);
                  if (!why) return is_settled(std::nullopt);
                  session_.send({std::string(leave_locks_alone), {std::string(locks_alone)}},
                                while_settling([this, why](const Delivered&) { is_settled(why); }));
                }));
}

// In one statement, so that it is one transaction: whoever sees the tables sees the note, too.
void Home::create_tables() {
  session_.send({anonymous_block(guard() + ";" + statement(postgres::create_tables, tables_) + ";" +
                                 first_note(tables_)),
                 {},
                 connect_limit(*settings_)},  // a slow disk has much to do
                while_settling([this](const Delivered&) {
                  has_tables_ = true;
                  note_timeline();
                }));
}

void Home::note_timeline() {
  session_.send({statement(note, tables_), {timeline_}},
                while_settling([this](const Delivered& answer) {
                  const auto age =
                      from_micros(std::max<std::int64_t>(answer.rows.number(0, 0).value_or(0), 0));
                  if (age < age_at(answer.received)) {
                    age_ = age;
                    aged_at_ = answer.received;
                  }
                  lock_life();
                }));
}

void Home::lock_life() {
  if (!by_clock_) return is_settled(std::nullopt);
  if (locked_life_ == life_ || !by_lock_) return open_life();
  session_.send(
      {std::string(next_life), {std::to_string(life_), std::to_string(locked_life_), backend()}},
      while_settling([this](const Delivered& answer) {
        const std::string* const word = answer.rows.text(0, 0);
        if (word == nullptr || *word != "t") return leave(backend_ != 0 ? shared() : taken());
        locked_life_ = life_;
        open_life();
      }));
}

// The next session begins so.
void Home::rest() {
  if (by_lock_ && session_.is_established()) {
    session_.send({std::string(may_be_silent), {backend()}}, [](const Result<Delivered>&) {});
  }
}

void Home::lose_life() {
  if (state_ != State::settled || !by_clock_) return;
  state_ = State::unsettled;
  lives_before_.clear();
  life_ = random_life();
}

void Home::close_life() {
  if (state_ != State::settled || !by_clock_) return;
  session_.send({statement(close_session, tables_), {std::to_string(life_)}},
                [](const Result<Delivered>&) {});
  lose_life();
}

void Home::open_life() {
  Array before;
  for (const std::int64_t each : lives_before_) before.add(each);
  Array led;
  for (const std::string& each : handlers_.led()) led.add(each);
  session_.send({statement(open_session, tables_),
                 {std::to_string(life_), std::to_string(micros(settings_->lease)), before.text(),
                  led.text()}},
                while_settling([this](const Delivered& answer) {
                  lives_before_.clear();
                  news = answer.rows.number(0, 0).value_or(0);
                  is_settled(std::nullopt);
                }));
}

void Home::is_settled(const std::optional<Error>& failed) {
  state_ = failed ? State::unsettled : State::settled;
  has_served_ = has_served_ || !failed;
  const std::weak_ptr alive = alive_;
  for (const Session::Ready& each : std::exchange(waiting_, {})) {
    if (alive.expired()) return;
    each(failed);
  }
}

}  // namespace conclave::postgres
