#include "stores/postgres/wire.hpp"

#include <libpq-fe.h>
#include <openssl/ssl.h>

#include <map>
#include <random>
#include <utility>

#include "net/descriptor.hpp"
#include "stores/postgres/adopted.hpp"
#include "stores/postgres/trouble.hpp"

namespace conclave::postgres {
namespace {

using Outcome = std::unique_ptr<PGresult, decltype(&PQclear)>;
using Notification = std::unique_ptr<PGnotify, decltype(&PQfreemem)>;

std::string field(const PGresult* result, int code) {
  const char* const text = PQresultErrorField(result, code);
  return text != nullptr ? text : "";
}

// Not by the text, which is in the server's language.
bool is_fatal(const PGresult* result) {
  const std::string severity = field(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  return severity == "FATAL" || severity == "PANIC";
}

bool is_replication_cancelled(const PGresult* notice) {
  return field(notice, PG_DIAG_SOURCE_FUNCTION) == "SyncRepWaitForLSN" ||
         (field(notice, PG_DIAG_SQLSTATE) == "01000" &&
          field(notice, PG_DIAG_MESSAGE_PRIMARY).find("wait for synchronous replication") !=
              std::string::npos);
}

// TLS may have taken more from the socket than libpq has asked for: nobody would be told of that.
// libpq always has room for 8 KiB, as PostgreSQL 15 sends them; others may fill a record of 16.
bool has_hidden_bytes(PGconn* connection) {
  auto* const tls = static_cast<SSL*>(PQsslStruct(connection, "OpenSSL"));
  return tls != nullptr && SSL_pending(tls) > 0;
}

}  // namespace

// Outlives the Wire that is destroyed in a handler. Whatever waits holds it weakly.
struct Wire::Core : std::enable_shared_from_this<Core> {
  Core(net::AsioLoop& runs_on, Place server, Handlers calls)
      : loop(runs_on), watch(runs_on), place(std::move(server)), handlers(std::move(calls)) {}

  void soon(void (Core::*what)()) {
    loop.post([what, self = weak_from_this()] {
      const auto core = self.lock();
      if (core != nullptr && !core->over) (core.get()->*what)();
    });
  }

  net::Watch::Handler when(void (Core::*what)()) {
    return [what, self = weak_from_this()] {
      const auto core = self.lock();
      if (core != nullptr && !core->over) (core.get()->*what)();
    };
  }

  // ---------------------------------------------------------------- connecting

  void begin(const Settings::Conninfo& words) {
    std::vector<const char*> names;
    std::vector<const char*> values;
    for (const auto& [name, value] : words) {
      names.push_back(name.c_str());
      values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
    watch.replace([&] {
      connection.reset(PQconnectStartParams(names.data(), values.data(), 0), &PQfinish);
      if (connection == nullptr) return -1;
      PQsetErrorVerbosity(connection.get(), PQERRORS_VERBOSE);  // for the SQLSTATE of a refusal
      PQsetNoticeReceiver(connection.get(), &Core::heard_notice, this);
      return PQsocket(connection.get());
    });
    if (connection == nullptr || PQstatus(connection.get()) == CONNECTION_BAD) {
      return soon(&Core::could_not_connect);
    }
    watch.when_writable(when(&Core::poll));
  }

  void poll() {
    auto state = PGRES_POLLING_FAILED;
    watch.replace([&] {  // it may go on to the next address
      state = PQconnectPoll(connection.get());
      return PQsocket(connection.get());
    });
    switch (state) {
      case PGRES_POLLING_READING: return watch.when_readable(when(&Core::poll));
      case PGRES_POLLING_WRITING: return watch.when_writable(when(&Core::poll));
      case PGRES_POLLING_OK: return establish();
      default: return could_not_connect();
    }
  }

  void could_not_connect() {
    fail(connect_trouble(connection != nullptr ? PQerrorMessage(connection.get()) : "out of memory",
                         place));
  }

  void establish() {
    PQsetnonblocking(connection.get(), 1);
    watch.when_readable(when(&Core::receive));
    handlers.connected();
  }

  void adopt(std::shared_ptr<PGconn> given) {
    is_adopted = true;
    prefix += std::to_string(std::random_device{}()) + "_";  // others may have prepared theirs
    connection = std::move(given);
    was_nonblocking = PQisnonblocking(connection.get());
    PQsetNoticeReceiver(connection.get(), &Core::heard_notice, this);
    watch.replace([&] { return PQsocket(connection.get()); });
    soon(&Core::establish_adopted);
  }

  // Somebody may have used it since it was given.
  void establish_adopted() {
    if (const auto why = unsuitable(connection.get())) return fail(*why);
    establish();
  }

  // ---------------------------------------------------------------- sending

  void send(const Statement& statement) {
    if (!statement.often) return transmit(statement, nullptr);
    const auto [known, is_new] =
        plans.try_emplace(statement.sql, prefix + std::to_string(plans.size() + 1));
    if (!is_new) return transmit(statement, known->second.c_str());
    preparing = statement;
    transmit(statement, known->second.c_str());
  }

  // Prepares it, or executes what was prepared under that name, or without one as it is.
  void transmit(const Statement& statement, const char* name) {
    std::vector<const char*> values;
    for (const auto& each : statement.parameters) {
      values.push_back(each ? each->c_str() : nullptr);
    }
    const char* const sql = statement.sql.c_str();
    const int count = static_cast<int>(values.size());
    answer = {};
    is_waiting = true;
    bool went = false;
    watch.use([&] {
      PGconn* const to = connection.get();
      went = (preparing ? PQsendPrepare(to, name, sql, 0, nullptr)
              : name != nullptr
                  ? PQsendQueryPrepared(to, name, count, values.data(), nullptr, nullptr, 0)
                  : PQsendQueryParams(to, sql, count, nullptr, values.data(), nullptr, nullptr,
                                      0)) == 1;
      return PQsocket(connection.get());
    });
    if (!went) return soon(&Core::ended);
    if (!flush()) soon(&Core::ended);
  }

  bool flush() {
    int state = -1;
    watch.use([&] {
      state = PQflush(connection.get());
      return PQsocket(connection.get());
    });
    if (state == 1) watch.when_writable(when(&Core::flush_on));
    return state >= 0;
  }

  void flush_on() {
    if (!flush()) ended();
  }

  // ---------------------------------------------------------------- receiving

  // What came at one go. It is told when libpq is done with it.
  struct Heard {
    std::vector<std::pair<std::string, std::string>> notifications{};
    bool is_answered = false;
    bool is_over = false;
  };

  void receive() {
    const auto self = shared_from_this();
    Heard heard;
    watch.use([&] {
      heard = read();
      return PQsocket(connection.get());
    });
    for (auto& [channel, payload] : heard.notifications) {
      if (over) return;
      if (handlers.notified) handlers.notified(std::move(channel), std::move(payload));
    }
    if (over) return;
    if (heard.is_answered) take_answer();
    if (over) return;
    if (heard.is_over || fatal) return ended();
    watch.when_readable(when(&Core::receive));
    if (!flush()) ended();  // libpq may have had to wait for room, and may have it now
  }

  void take_answer() {
    const auto prepared = std::exchange(preparing, std::nullopt);
    if (prepared && !answer.error) return send(*prepared);
    if (prepared) plans.erase(prepared->sql);
    is_waiting = false;
    handlers.answered(std::exchange(answer, {}));
  }

  Heard read() {
    Heard heard;
    do {
      heard.is_over = PQconsumeInput(connection.get()) == 0;
    } while (!heard.is_over && has_hidden_bytes(connection.get()));
    while (is_waiting && !heard.is_answered && PQisBusy(connection.get()) == 0) {
      const Outcome result(PQgetResult(connection.get()), &PQclear);
      if (result == nullptr) {
        heard.is_answered = !fatal && !heard.is_over;
        break;
      }
      if (!take(result.get())) heard.is_over = true;
      if (heard.is_over) break;
    }
    if (!is_waiting) static_cast<void>(PQisBusy(connection.get()));  // finds what nobody asked for
    for (;;) {
      const Notification each(PQnotifies(connection.get()), &PQfreemem);
      if (each == nullptr) break;
      heard.notifications.emplace_back(each->relname, each->extra);
    }
    return heard;
  }

  // False when the connection is of no use after it.
  bool take(const PGresult* result) {
    switch (PQresultStatus(result)) {
      case PGRES_EMPTY_QUERY:
      case PGRES_COMMAND_OK:
      case PGRES_TUPLES_OK: answer.rows = Rows::of(result); return true;
      case PGRES_FATAL_ERROR: break;
      default:  // COPY
        fatal = Error{ErrorCode::unsupported,
                      place.server + " answered in a way that no statement of ours asks for", true,
                      true};
        return false;
    }
    const std::string state = field(result, PG_DIAG_SQLSTATE);
    if (state.empty()) return false;  // libpq's own: the connection broke
    Error error = trouble_of(state, field(result, PG_DIAG_MESSAGE_PRIMARY), place);
    if (is_fatal(result)) {
      fatal = std::move(error);
    } else {
      answer.error = std::move(error);
    }
    return true;
  }

  // Inside of libpq: only notes it. An end that nobody has asked for comes so, too.
  static void heard_notice(void* self, const PGresult* notice) {
    auto& core = *static_cast<Core*>(self);
    if (is_replication_cancelled(notice)) core.answer.replication_cancelled = true;
    if (!is_fatal(notice)) return;
    core.fatal = trouble_of(field(notice, PG_DIAG_SQLSTATE), field(notice, PG_DIAG_MESSAGE_PRIMARY),
                            core.place);
  }

  // ---------------------------------------------------------------- the end

  void ended() { fail(fatal ? *fatal : broken(PQerrorMessage(connection.get()), place.server)); }

  // The connection stays until its owner has been told.
  void fail(const Error& why) {
    if (!std::exchange(failed, true)) handlers.broken(why);
  }

  void end() {
    if (std::exchange(over, true)) return;
    if (is_adopted) {  // it may outlive us. What it told before is lost: libpq does not say whom
      PQsetNoticeReceiver(
          connection.get(), [](void*, const PGresult*) {}, nullptr);
      PQsetnonblocking(connection.get(), was_nonblocking);
    }
    watch.replace([&] {
      connection.reset();
      return -1;
    });
  }

  net::AsioLoop& loop;
  net::Watch watch;
  const Place place;
  const Handlers handlers;
  std::shared_ptr<PGconn> connection{};
  bool is_adopted = false;
  int was_nonblocking = 0;                     // the application's
  bool is_waiting = false;                     // for an answer
  std::string prefix{"conclave_"};             // of the names of plans
  std::map<std::string, std::string> plans{};  // their names, by the text
  std::optional<Statement> preparing{};        // to be executed then
  bool failed = false;
  bool over = false;
  Answer answer{};
  std::optional<Error> fatal{};  // the server's last words
};

Wire::Wire(net::AsioLoop& loop, const Settings::Conninfo& words, Place place, Handlers handlers)
    : core_(std::make_shared<Core>(loop, std::move(place), std::move(handlers))) {
  core_->begin(words);
}

Wire::Wire(net::AsioLoop& loop, std::shared_ptr<pg_conn> adopted, Place place, Handlers handlers)
    : core_(std::make_shared<Core>(loop, std::move(place), std::move(handlers))) {
  core_->adopt(std::move(adopted));
}

Wire::~Wire() {
  if (fork_.in_child()) {
    net::leave_alone(std::move(core_));
  } else {
    core_->end();
  }
}

void Wire::send(const Statement& statement) {
  if (!fork_.in_child()) core_->send(statement);
}

pg_conn* Wire::get() const { return core_->connection.get(); }

std::string Wire::address() const {
  const PGconn* const connection = core_->connection.get();
  const char* const text = connection != nullptr ? PQhostaddr(connection) : nullptr;
  return text != nullptr ? text : "";
}

}  // namespace conclave::postgres
