#include "stores/postgres/line.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <utility>

#include "stores/postgres/adopted.hpp"
#include "stores/postgres/statements.hpp"
#include "stores/postgres/texts.hpp"
#include "stores/postgres/trouble.hpp"

namespace conclave::postgres {
namespace {

using namespace std::chrono_literals;

constexpr Duration first_pause = 20ms;

// A leader has to be back well within its lease.
Duration longest_pause(const Settings& settings) {
  return std::clamp<Duration>(settings.lease / 8, first_pause, 1s);
}

// A password that was corrected is noticed that soon.
Duration calm_pause(const Settings& settings) {
  return std::clamp<Duration>(settings.lease, first_pause, 10s);
}

// What a role or a database may have set, and would end our statements or sessions. Only where the
// server's session is ours alone: behind a pooler it would reach strangers. And what ends sessions
// of processes that stand still, do not read what they are told, or whose host has vanished; by
// default the server keeps those for hours. One row, unless pooled.
constexpr const char* neutralise = R"(
SELECT set_config('statement_timeout', '0', false),
       set_config('lock_timeout', '0', false),
       set_config('idle_in_transaction_session_timeout', '0', false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('plan_cache_mode', 'force_generic_plan', false),
       set_config('synchronous_commit',
                  CASE current_setting('synchronous_commit')
                    WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false),
       CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL
            THEN set_config('transaction_timeout', '0', false) END,
       CASE WHEN current_setting('idle_session_timeout', true) IS NOT NULL
            THEN set_config('idle_session_timeout', $2, false) END,
       CASE WHEN current_setting('tcp_user_timeout', true) IS NOT NULL
            THEN set_config('tcp_user_timeout', $2, false) END,
       set_config('tcp_keepalives_idle', $3, false),
       set_config('tcp_keepalives_interval', $4, false),
       set_config('tcp_keepalives_count', '3', false)
 WHERE pg_backend_pid() = $1::int4)";

// A session that we have given up may wait for a standby or for a row, and would do so for ever,
// with all that it has locked. It is ours, by its start, and nothing is held on it any more.
constexpr const char* end_other = R"(
SELECT (SELECT extract(epoch FROM backend_start) FROM pg_stat_get_activity($1::int4)),
       (SELECT bool_or(pg_terminate_backend(pid)) FROM pg_stat_get_activity($2::int4)
         WHERE extract(epoch FROM backend_start) = $3::numeric)
 WHERE pg_backend_pid() = $1::int4)";

std::string seconds_of(Duration time) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count());
}

Statement neutralised(const std::string& pid, const Settings& settings) {
  const Duration silence = longest_silence(settings);
  return {neutralise,
          {pid, in_milliseconds(silence), seconds_of(silence), seconds_of(silence / 10)}};
}

std::string joined(const std::vector<Target>& targets, std::string Target::*part) {
  std::string list;
  for (const Target& each : targets) (list += &each == &targets.front() ? "" : ",") += each.*part;
  return list;
}

Place place_of(const Settings& settings) {
  Place place(settings.where);
  const Tables tables(settings.schema, settings.prefix);
  place.schema = tables.schema;
  place.tables = tables.election + ", " + tables.session + ", " + tables.server;
  place.create = settings.create;
  return place;
}

// What libpq is told of where to connect, and as whom.
Settings::Conninfo words_for(const Settings& settings, const std::vector<Target>& targets,
                             const PostgresCredentials& credentials) {
  Settings::Conninfo words = settings.conninfo;
  const auto set = [&](const std::string& name, const std::string& value) {
    std::erase_if(words, [&](const auto& each) { return each.first == name; });
    if (value.find_first_not_of(',') != std::string::npos) words.emplace_back(name, value);
  };
  set("host", joined(targets, &Target::host));
  set("hostaddr", joined(targets, &Target::hostaddr));
  set("port", joined(targets, &Target::port));
  if (!credentials.user.empty()) set("user", credentials.user);
  if (!credentials.password.empty()) words.emplace_back("password", credentials.password);
  return words;
}

std::vector<Target> targets_of(const Settings& settings) {
  return targets_in({settings.conninfo.begin(), settings.conninfo.end()});
}

}  // namespace

Line::Line(net::AsioLoop& loop, std::shared_ptr<const Settings> settings,
           std::shared_ptr<pg_conn> adopted, Handlers handlers)
    : loop_(loop),
      settings_(std::move(settings)),
      is_adopted_(adopted != nullptr),
      adopted_(std::move(adopted)),
      handlers_(std::move(handlers)) {}

// Later, unless something else has happened by then.
void Line::after(Duration wait, std::function<void()> act) {
  loop_.post_at(loop_.clock().now() + wait,
                [this, act = std::move(act), step = step_, alive = std::weak_ptr(alive_)] {
                  if (!alive.expired() && step == step_) act();
                });
}

void Line::enter(State next) {
  state_ = next;
  step_ += 1;
}

// ---------------------------------------------------------------- connecting

void Line::open() {
  if (state_ == State::idle) connect();
}

void Line::connect() {
  enter(State::connecting);
  rests_for_.reset();
  is_pooled_ = false;
  limit_ = is_adopted_ ? patience_with_adopted(*settings_) : connect_limit(*settings_);
  after(limit_, [this] { gave_up_waiting(); });
  if (is_adopted_) {
    wire_ =
        std::make_unique<Wire>(loop_, std::move(adopted_), place_of(*settings_), wire_handlers());
    return;
  }
  resolve(loop_, targets_of(*settings_), limit_ / 4,
          [this, step = step_, alive = std::weak_ptr(alive_)](const auto& found) {
            if (!alive.expired() && step == step_) resolved(found);
          });
}

void Line::resolved(const Result<std::vector<Target>>& found) {
  const auto fail_soon = [this](const Error& why) {
    after(Duration::zero(), [this, why] { fail(why); });
  };
  if (!found) {
    Error why = found.error();
    why.message = "cannot connect to " + settings_->where + ": " + why.message;
    return fail_soon(why);
  }
  const auto credentials = credentials_of(*settings_);
  if (!credentials) return fail_soon(credentials.error());
  tried_ = *found;
  const auto begin = static_cast<std::ptrdiff_t>(first_ % tried_.size());
  std::rotate(tried_.begin(), tried_.begin() + begin, tried_.end());
  // libpq waits for a silent one as long as we do: the next attempt begins with the next one.
  if (tried_.size() > 1) {
    enter(State::connecting);
    limit_ = std::max(limit_ / static_cast<int>(std::min<std::size_t>(tried_.size(), 4)),
                      settings_->request_timeout);
    after(limit_, [this] { gave_up_waiting(); });
  }
  wire_ = std::make_unique<Wire>(loop_, words_for(*settings_, tried_, *credentials),
                                 place_of(*settings_), wire_handlers());
}

Wire::Handlers Line::wire_handlers() {
  return {.connected = [this] { set_up(); },
          .answered = [this](Answer answer) { answered(std::move(answer)); },
          .notified =
              [this](std::string channel, std::string payload) {
                handlers_.notified(std::move(channel), std::move(payload));
              },
          .broken = [this](const Error& why) { fail(why); }};
}

void Line::gave_up_waiting() {
  const char* const awaited = wire_ == nullptr              ? "the DNS's answer"
                              : state_ == State::connecting ? "a connection"
                                                            : "an answer to the greeting";
  if (wire_ != nullptr) begin_after(wire_->address());
  fail(timed_out(settings_->where, limit_, awaited, "by request_timeout", false));
}

// The next attempt begins with the server after this one.
void Line::begin_after(const std::string& address) {
  const auto found = std::find_if(tried_.begin(), tried_.end(), [&](const Target& each) {
    return each.hostaddr == address || each.host == address;
  });
  first_ += found != tried_.end() ? static_cast<std::size_t>(found - tried_.begin()) + 1 : 1;
}

// ---------------------------------------------------------------- setting up

void Line::set_up() {
  state_ = State::setting_up;  // within the same limit
  const std::string pid = std::to_string(PQbackendPID(wire_->get()));
  setup_ = {neutralised(pid, *settings_), {end_other, {pid, before_.pid, before_.start}}};
  // Somebody who floods a session that stands still with messages would keep it from being ended.
  if (is_adopted_) setup_.push_back({"UNLISTEN *", {}});
  ours_ = static_cast<std::ptrdiff_t>(setup_.size());
  greetings_.clear();
  const std::weak_ptr alive = alive_;
  const auto step = step_;
  auto asked = handlers_.setup();
  if (alive.expired() || step != step_) return;
  for (auto& each : asked) setup_.push_back(std::move(each));
  send_setup();
}

// Behind a pooler another session might be asked to execute what this one has prepared.
void Line::send(const Statement& statement) {
  if (!statement.often || !is_pooled_) return wire_->send(statement);
  Statement once = statement;
  once.often = false;
  wire_->send(once);
}

// A pooler says what some server has said to it once.
bool Line::only_reads() const {
  if (is_pooled_ || wire_ == nullptr) return false;
  const char* const word = PQparameterStatus(wire_->get(), "default_transaction_read_only");
  return word != nullptr && word == std::string_view("on");
}

void Line::send_setup() {
  sent_ = loop_.clock().now();
  wire_->send(setup_[greetings_.size()]);
}

void Line::answered(Answer answer) {
  if (state_ == State::ready) {
    answered_at_ = loop_.clock().now();
    return handlers_.answered(std::move(answer));
  }
  // Who may not look at sessions can be a candidate nevertheless.
  const bool is_needed = greetings_.size() != 1;
  if (answer.error && is_needed) return fail(*answer.error);
  if (greetings_.empty()) is_pooled_ = answer.rows.empty();
  if (greetings_.size() == 1) know_self(answer.rows);
  greetings_.push_back({std::move(answer), sent_, loop_.clock().now()});
  if (greetings_.size() < setup_.size()) return send_setup();
  greet();
}

void Line::know_self(const Rows& rows) {
  const std::string* const start = rows.text(0, 0);
  before_ = {};
  if (start != nullptr) before_ = {std::to_string(PQbackendPID(wire_->get())), *start};
}

void Line::greet() {
  auto greetings = std::exchange(greetings_, {});
  greetings.erase(greetings.begin(), greetings.begin() + ours_);
  const std::weak_ptr alive = alive_;
  const auto step = step_;
  const auto refused = handlers_.greeted(std::move(greetings));
  if (alive.expired() || step != step_) return;
  if (refused) {
    begin_after(wire_->address());  // another one may be of use
    return fail(*refused);
  }
  enter(State::ready);
  troubled_since_.reset();
  ready_since_ = answered_at_ = loop_.clock().now();
  handlers_.ready();
}

// ---------------------------------------------------------------- the end of a connection

void Line::fail(Error why) {
  if (is_adopted_) why = for_good(std::move(why));
  const std::weak_ptr alive = alive_;
  const bool was_ready = state_ == State::ready;
  plan_next(why, was_ready);
  if (was_ready) handlers_.losing(why);
  if (alive.expired()) return;
  wire_.reset();
  handlers_.broken(why);
}

void Line::plan_next(const Error& why, bool was_ready) {
  if (is_adopted_) {
    rests_for_ = why;
    return enter(State::closed);
  }
  const Instant now = loop_.clock().now();
  // One that did not last, or was silent from the beginning, is not replaced at once for ever.
  const Instant last = why.code == ErrorCode::timed_out ? answered_at_ : now;
  const bool lasted = was_ready && last - ready_since_ > longest_pause(*settings_);
  failures_ = lasted ? 0 : failures_ + 1;
  if (!troubled_since_) troubled_since_ = now;
  // Only a person can mend it.
  if (!why.retryable && now - *troubled_since_ >= settings_->lease) rests_for_ = why;
  enter(State::pausing);
  after(pause(), [this] { connect(); });
}

Duration Line::pause() {
  if (failures_ == 0) return Duration::zero();
  const Duration longest = rests_for_ ? calm_pause(*settings_) : longest_pause(*settings_);
  const Duration grown = std::min(first_pause * (1U << std::min(failures_ - 1, 10U)), longest);
  return grown / 2 +
         Duration{std::uniform_int_distribution<std::int64_t>(0, grown.count() / 2)(random_)};
}

void Line::close() {
  enter(State::closed);
  rests_for_.reset();
  wire_.reset();
}

}  // namespace conclave::postgres
