#include "stores/postgres/session.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "stores/postgres/line.hpp"
#include "stores/postgres/trouble.hpp"

namespace conclave::postgres {
namespace {

struct Pending {
  std::uint64_t number = 0;
  Statement statement{};
  Session::Done done{};  // none when it has been told
  std::optional<Instant> sent{};
};

Session::Keeping with_attributes(Session::Keeping keeping, const Settings& settings) {
  keeping.writes = keeping.writes || settings.keyword("target_session_attrs") == "read-write";
  return keeping;
}

}  // namespace

// Outlives the Session that is destroyed in a callback. Whatever waits holds it weakly.
struct Session::Core : std::enable_shared_from_this<Core> {
  Core(net::AsioLoop& runs_on, std::shared_ptr<const Settings> given, Handlers calls, Keeping kept,
       std::shared_ptr<PGconn> adopted)
      : loop(runs_on),
        settings(std::move(given)),
        handlers(std::move(calls)),
        keeping(with_attributes(kept, *settings)),
        line(runs_on, settings, std::move(adopted), line_handlers()) {}

  Line::Handlers line_handlers() {
    return {
        .setup = [this] { return setup(); },
        .greeted = [this](std::vector<Line::Greeted> heard) { return greeted(std::move(heard)); },
        .ready = [this] { ready(); },
        .answered = [this](Answer answer) { answered(std::move(answer)); },
        .notified =
            [this](std::string channel, std::string payload) {
              const auto self = shared_from_this();
              if (handlers.notified) handlers.notified(std::move(channel), std::move(payload));
            },
        .losing = [this](const Error& why) { losing(why); },
        .broken = [this](const Error& why) { broken(why); }};
  }

  // ---------------------------------------------------------------- greeting

  std::vector<Statement> setup() {
    confirmed.reset();
    const auto self = shared_from_this();
    return handlers.setup ? handlers.setup() : std::vector<Statement>{};
  }

  std::optional<Error> greeted(std::vector<Line::Greeted> heard) {
    std::vector<Delivered> delivered;
    for (auto& each : heard) {
      confirmed = each.sent;
      delivered.push_back({std::move(each.answer.rows), each.sent, each.received,
                           each.answer.replication_cancelled});
    }
    const auto self = shared_from_this();
    return handlers.greeted ? handlers.greeted(delivered, line.get()) : std::nullopt;
  }

  void ready() {
    const auto self = shared_from_this();
    for (const Ready& each : std::exchange(waiting, {})) {
      if (destroyed) return;
      // Whoever was told before may have closed it.
      each(line.is_ready() ? std::nullopt : std::optional(why_not()));
    }
    if (destroyed) return;
    send_next(loop.clock().now());
    if (keeping.awake && !line.is_pooled()) stay_awake(++wakes);
  }

  // Until the connection is another one.
  void stay_awake(std::uint64_t wake) {
    loop.post_at(loop.clock().now() + longest_silence(*settings) / 3,
                 [wake, self = weak_from_this()] {
                   const auto core = self.lock();
                   if (core == nullptr || core->destroyed || core->wakes != wake) return;
                   if (core->line.is_ready() && core->queue.empty()) {
                     core->send({"select 1"}, [](const Result<Delivered>&) {});
                   }
                   core->stay_awake(wake);
                 });
  }

  void prepare(Ready ready) {
    if (line.is_ready()) return ready(std::nullopt);
    if (!line.is_closed() && !line.rests_for()) {
      waiting.push_back(std::move(ready));
      return line.open();
    }
    loop.post([why = why_not(), ready = std::move(ready), self = weak_from_this()] {
      const auto core = self.lock();
      if (core != nullptr && !core->destroyed) ready(why);
    });
  }

  [[nodiscard]] Error why_not() const { return line.rests_for().value_or(closed(settings->where)); }

  // ---------------------------------------------------------------- statements

  void send(Statement statement, Done done) {
    const auto number = ++last_number;
    if (statement.patience == Duration::zero()) statement.patience = settings->request_timeout;
    const Duration patience = statement.patience;
    const Instant now = loop.clock().now();
    queue.push_back({number, std::move(statement), std::move(done), {}});
    if (line.is_closed()) {
      return loop.post([self = weak_from_this()] {
        const auto core = self.lock();
        if (core != nullptr) core->tell_all(std::exchange(core->queue, {}), core->why_not());
      });
    }
    look_at(number, now + patience);
    line.open();
    send_next(now);
  }

  void send_next(Instant now) {
    if (!line.is_ready() || queue.empty() || queue.front().sent) return;
    queue.front().sent = now;
    line.send(queue.front().statement);
  }

  void look_at(std::uint64_t number, Instant when) {
    loop.post_at(when, [number, self = weak_from_this()] {
      const auto core = self.lock();
      if (core != nullptr && !core->destroyed) core->ran_out_of_patience(number);
    });
  }

  void ran_out_of_patience(std::uint64_t number) {
    const auto found = std::find_if(queue.begin(), queue.end(),
                                    [&](const Pending& each) { return each.number == number; });
    if (found == queue.end()) return;
    const Error why = timed_out(settings->where, found->statement.patience, "a reply",
                                "request_timeout", found->sent.has_value());
    if (!found->sent) {
      const Done done = std::move(found->done);
      queue.erase(found);
      return done(why);
    }
    // Counted from when it was sent: that it stood in the queue says nothing about the connection.
    const Instant end = *found->sent + std::max(keeping.tolerance, found->statement.patience);
    if (loop.clock().now() >= end) return line.fail(why);
    look_at(number, end);
    if (const Done done = std::exchange(found->done, {})) done(why);
  }

  void answered(Answer answer) {
    const auto self = shared_from_this();
    // Nobody is told of a lock that was taken where it must not be any more.
    if (keeping.writes && line.only_reads()) return line.fail(only_reads(settings->where));
    const Pending pending = std::move(queue.front());
    queue.pop_front();
    confirmed = pending.sent;
    send_next(loop.clock().now());  // before whoever is told takes its time
    if (!pending.done) return;
    if (answer.error) return pending.done(*std::move(answer.error));
    pending.done(Delivered{std::move(answer.rows), *pending.sent, loop.clock().now(),
                           answer.replication_cancelled});
  }

  void tell_all(const std::deque<Pending>& pending, const Error& why) {
    for (const Pending& each : pending) {
      if (destroyed) return;
      Error told = why;
      told.in_doubt = each.sent.has_value();
      if (each.done) each.done(told);
    }
  }

  // ---------------------------------------------------------------- the end

  void losing(const Error& why) {
    const auto self = shared_from_this();
    if (handlers.lost) handlers.lost(why);
  }

  void broken(const Error& why) { end(why); }

  void close() {
    if (line.is_closed()) return;
    line.close();
    end(why_not());
  }

  void end(const Error& why) {
    const auto self = shared_from_this();
    const auto pending = std::exchange(queue, {});
    for (const Ready& each : std::exchange(waiting, {})) {
      if (destroyed) return;
      each(why);
    }
    tell_all(pending, why);
  }

  void destroy() {
    destroyed = true;
    line.close();
  }

  net::AsioLoop& loop;
  const std::shared_ptr<const Settings> settings;
  const Handlers handlers;
  const Keeping keeping;
  bool destroyed = false;
  std::vector<Ready> waiting{};
  std::deque<Pending> queue{};  // the first one may have been sent
  std::uint64_t last_number = 0;
  std::uint64_t wakes = 0;  // connections that were to stay awake
  std::optional<Instant> confirmed{};
  Line line;
};

Session::Session(net::AsioLoop& loop, std::shared_ptr<const Settings> settings, Handlers handlers,
                 Keeping keeping, std::shared_ptr<PGconn> adopted)
    : core_(std::make_shared<Core>(loop, std::move(settings), std::move(handlers), keeping,
                                   std::move(adopted))) {}

Session::~Session() {
  if (fork_.in_child()) {
    net::leave_alone(std::move(core_));
  } else {
    core_->destroy();
  }
}

void Session::open() {
  if (!fork_.in_child()) core_->line.open();
}

void Session::prepare(Ready ready) {
  if (fork_.in_child()) return net::leave_alone(std::move(ready));
  core_->prepare(std::move(ready));
}

void Session::send(Statement statement, Done done) {
  if (fork_.in_child()) return net::leave_alone(std::move(done));
  core_->send(std::move(statement), std::move(done));
}

void Session::fail(const Error& why) {
  if (!fork_.in_child() && core_->line.is_ready()) core_->line.fail(why);
}

void Session::close() {
  if (!fork_.in_child()) core_->close();
}

std::optional<Instant> Session::last_confirmed() const { return core_->confirmed; }

int Session::backend_pid() const {
  PGconn* const connection = fork_.in_child() ? nullptr : core_->line.get();
  return connection != nullptr ? PQbackendPID(connection) : 0;
}

bool Session::is_pooled() const { return core_->line.is_pooled(); }

bool Session::has_tls() const {
  PGconn* const connection = fork_.in_child() ? nullptr : core_->line.get();
  return connection != nullptr && PQsslInUse(connection) != 0;
}

bool Session::is_established() const { return !fork_.in_child() && core_->line.is_ready(); }

bool Session::is_idle() const { return is_established() && core_->queue.empty(); }

const std::string& Session::where() const { return core_->settings->where; }

}  // namespace conclave::postgres
