// The session on which terms are held: who we are to the server, and what it says of itself.
//
// After each connect the server is greeted, the tables are made where they are missing, and a new
// life begins: a random number, which is the key of an advisory lock, the key of a session row, or
// both. In mode advisory the terms of an old life are over with its session; by the clock those
// that are led move along to the new one.
#pragma once

#include "stores/postgres/pooler.hpp"
#include "stores/postgres/session.hpp"
#include "stores/postgres/statements.hpp"

namespace conclave::postgres {

class Home {
 public:
  struct Handlers {
    std::function<void(const Error&)> lost;
    std::function<std::vector<std::string>()> led;  // the attempts that are led by
  };

  Home(net::AsioLoop& loop, std::shared_ptr<const Settings> settings, const Tables& tables,
       Handlers handlers, std::shared_ptr<PGconn> adopted);
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  // Calls back when bids can be made, or with what keeps them from it.
  void prepare(Session::Ready ready);
  void send(Statement statement, Session::Done done);

  [[nodiscard]] std::int64_t life() const noexcept { return life_; }
  [[nodiscard]] std::string kind() const;  // as the rows have it
  [[nodiscard]] bool is_judged_by_clock() const noexcept { return by_clock_; }
  // Whether this session ends with the server: through a pooler it may outlive it. Not known before
  // it is connected.
  [[nodiscard]] bool sees_crashes() const {
    return session_.is_established() && !session_.is_pooled();
  }
  // For how long this server has decided.
  [[nodiscard]] Duration age_at(Instant now) const noexcept;
  [[nodiscard]] const std::string& where() const { return session_.where(); }
  // For what needs no lock, where there is no other session.
  [[nodiscard]] Session& session() noexcept { return session_; }

  [[nodiscard]] std::int64_t backend_pid() const;  // of the server process that has our lock
  // Behind a pooler only: there, nothing may be granted by another one.
  [[nodiscard]] std::optional<std::string> backend() const;
  // Whether a statement was executed on another one: then nothing is ours alone.
  [[nodiscard]] bool is_elsewhere(std::optional<std::int64_t> backend) const noexcept;
  [[nodiscard]] Error shared() const;
  // This session is worth nothing: the next one.
  void leave(const Error& why);

  // Settled, and nothing that was asked for on it can still be executed.
  [[nodiscard]] bool is_idle() const { return state_ == State::settled && session_.is_idle(); }
  // Which server it is, or was.
  [[nodiscard]] const std::string& server() const noexcept { return server_; }
  // Nothing is led or asked for: with a lock, too, it may be silent.
  void rest();

  // Our session row has gone: nothing that is held in its name is, and a new life begins.
  void lose_life();
  // Nothing is held or asked for in its name any more: it leaves no row behind.
  void close_life();

  // What was last heard of the session row. Something else in a renewal makes it worthless.
  std::int64_t news = 0;

 private:
  enum class State { unsettled, settling, settled };

  [[nodiscard]] std::vector<Statement> setup();
  [[nodiscard]] std::optional<Error> greeted(const std::vector<Delivered>& answers);
  [[nodiscard]] Statement lock(std::optional<std::string> backend) const;
  void settle();
  void probe();
  void lock_behind_pooler(std::int64_t ours);
  void make_ready();
  [[nodiscard]] Error taken() const;
  void join_locks();
  void look_for_tables();
  void look_for_others();
  void create_tables();
  void note_timeline();
  void lock_life();
  void open_life();
  void is_settled(const std::optional<Error>& failed);
  template <typename Act>
  auto while_settling(Act act);

  net::AsioLoop& loop_;
  const std::shared_ptr<const Settings> settings_;
  const Tables& tables_;
  const Handlers handlers_;
  const bool by_clock_;
  const bool by_lock_;
  const bool is_adopted_;
  State state_ = State::unsettled;
  bool has_served_ = false;  // this session: something may be held on it
  std::uint64_t round_ = 0;  // of settling; answers of an older one come to nothing
  std::vector<Session::Ready> waiting_;
  std::int64_t life_ = 0;
  std::vector<std::int64_t> lives_before_;  // as far as they may have a session row
  bool has_tables_ = false;
  std::int64_t locked_life_ = 0;  // on this session
  std::int64_t backend_ = 0;      // that has the lock, behind a pooler
  std::string timeline_;
  std::string server_;
  Duration age_{};
  Instant aged_at_{};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Session session_;
  std::unique_ptr<PoolerProbe> probe_;  // while it is found out what kind of pooler there is
};

}  // namespace conclave::postgres
