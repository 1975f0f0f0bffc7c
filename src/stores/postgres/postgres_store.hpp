// The verbs in a PostgreSQL database. Everything happens on the loop.
#pragma once

#include <deque>
#include <map>
#include <set>

#include "net/calls.hpp"
#include "stores/postgres/answers.hpp"
#include "stores/postgres/courtesy.hpp"
#include "stores/postgres/ears.hpp"
#include "stores/postgres/home.hpp"
#include "stores/postgres/waiter.hpp"

namespace conclave::postgres {

class PostgresStore final : public Store {
 public:
  PostgresStore(std::shared_ptr<net::AsioLoop> loop, std::shared_ptr<const Settings> settings,
                std::shared_ptr<PGconn> adopted = {});
  ~PostgresStore() override;
  PostgresStore(const PostgresStore&) = delete;
  PostgresStore& operator=(const PostgresStore&) = delete;

  const Traits& traits() const noexcept override { return traits_; }
  Duration lease() const noexcept override { return settings_->lease; }
  const Clock& clock() const noexcept override { return loop_->clock(); }
  Executor& executor() noexcept override { return *loop_; }

  Operation campaign(Bid bid, std::function<void(CampaignAnswer)> done) override;
  Operation renew(std::vector<Renewal> due,
                  std::function<void(std::size_t, RenewAnswer)> done) override;
  Operation resign(Resignation resignation, std::function<void(conclave::Answer)> done) override;
  Operation observe(std::string election, std::string candidate, Sink sink) override;
  Operation inspect(std::string election, std::function<void(InspectAnswer)> done) override;
  Operation end(std::string election, std::function<void(conclave::Answer)> done) override;
  Operation remove(std::string election, Remains remains,
                   std::function<void(conclave::Answer)> done) override;
  Operation check(std::function<void(CheckAnswer)> done) override;
  void cancel(Operation operation) override;

 private:
  struct Standing {
    Bid bid;
    net::CallPtr<CampaignAnswer> call;
    Instant since{};  // when it came
    bool found_no_tables = false;
  };
  struct Renewing;  // renewals that were asked for together
  using RenewingPtr = std::shared_ptr<Renewing>;

  // ---- campaign
  void bid_soon();
  void bid();
  [[nodiscard]] Statement together(const std::vector<Standing>& some) const;
  [[nodiscard]] Statement for_released(const Bid& bid) const;
  void bid_together(std::vector<Standing> some, bool is_released);
  void tell(const std::vector<Standing>& some, const Result<Delivered>& answer);
  // Whether it was led by that.
  bool is_led_no_more(const std::string& election, const Attempt& attempt,
                      std::optional<Term> term);
  void leave_if_idle();
  void was_outrun(const Standing& bidder);
  void has_leader(const std::string& election, const std::string& leader, Term term);
  void tell_others(const std::string& election, const Rows& granted);
  [[nodiscard]] std::vector<std::string> attempts_led() const;
  CampaignAnswer answered(const Bid& bid, const Delivered& answer, std::size_t row);
  [[nodiscard]] Duration pause_before(const std::string& election, Duration first);

  // ---- resign
  [[nodiscard]] bool may_mark_aside() const;
  void mark_aside(const Resignation& resignation, const net::CallPtr<conclave::Answer>& call);
  void mark_at_home(const Resignation& resignation, const net::CallPtr<conclave::Answer>& call);
  [[nodiscard]] Statement mark(const Resignation& resignation,
                               std::optional<bool> may_be_forgotten) const;
  void is_marked(const Attempt& attempt);
  void rest_after(Duration pause);

  // ---- renew
  void renew_again(const RenewingPtr& renewing);
  void renewed(const RenewingPtr& renewing, const Result<Delivered>& answer);
  void tell_renewed(const RenewingPtr& renewing, std::size_t index, RenewAnswer with);

  // ---- listening
  [[nodiscard]] std::unique_ptr<Session> make_side();
  void is_lost(const Error& why);
  void is_listening();
  [[nodiscard]] bool is_told() const;
  void heard(const std::string& letter);
  void is_handed_over(const Letter& letter);
  void is_vacant(const Letter& letter);
  void look_soon(const std::string& election);
  void look_next();
  void look();
  void listen_to_some();
  void look_later(const std::vector<std::string>& elections);
  void looked(const std::vector<std::string>& elections, const Result<Delivered>& answer);
  [[nodiscard]] bool is_unanswered(const std::string& election, const Record& record) const;
  [[nodiscard]] bool is_polling() const;
  void look_again();
  void watch_lives();
  void is_gone(std::int64_t life);

  // ---- check
  struct Examination;
  void measure(const std::shared_ptr<Examination>& examination);
  void probe(const std::shared_ptr<Examination>& examination);
  void examine(const std::shared_ptr<Examination>& examination);
  void read_rows(const std::shared_ptr<Examination>& examination, const Rows& facts);

  // ---- answers
  // Sends it on a session, and answers with what `understand` makes of the rows.
  template <typename Answered, typename Through, typename Act>
  Operation ask(Through& through, std::function<void(Answered)> done, Statement statement,
                Act understand);
  template <typename Answered, typename Through, typename Act>
  void put(Through& through, const net::CallPtr<Answered>& call, Statement statement,
           Act understand);
  // Nobody leads, unless something else is the matter there that keeps us from seeing who does.
  void look_for_site(const net::CallPtr<InspectAnswer>& call);
  [[nodiscard]] std::string text(std::string_view of) const { return statement(of, tables_); }
  [[nodiscard]] static Statement often(const std::string& verb,
                                       std::vector<std::optional<std::string>> parameters) {
    return {verb, std::move(parameters), {}, true};
  }
  // Without tables nothing is kept that could be ended or removed.
  [[nodiscard]] std::optional<Error> check_kept(const std::string& election) const;
  [[nodiscard]] std::string channel(std::string_view election) const;
  // Whose lock would be free to our looks, since they go over the session that holds it.
  [[nodiscard]] std::string own_life() const {
    return std::to_string(is_adopted_ ? home_.life() : 0);
  }
  [[nodiscard]] Instant now() const noexcept { return clock().now(); }

  const std::shared_ptr<net::AsioLoop> loop_;
  const std::shared_ptr<const Settings> settings_;
  const Tables tables_;
  const bool is_adopted_;
  const Traits traits_;
  const Verbs verbs_;
  // Long enough for a place to be taken, and for that to be told.
  static constexpr Duration head_start = std::chrono::milliseconds{2};
  struct Led {
    Attempt attempt{};
    Term term{};
    std::int64_t life = 0;  // whose lock it was granted with, where it takes one
  };
  std::map<std::string, Led> led_;  // granted here, and not lost or resigned since
  Ears ears_;
  std::deque<Standing> bids_;
  std::map<std::string, Duration> pauses_;      // before the next bid for a row that is in use
  std::string released_;                        // the last election of which that was told
  std::map<std::string, Courtesy> courtesies_;  // where places were given back
  bool bid_planned_ = false;
  bool bidding_ = false;
  bool has_home_ = true;           // as the last bid found
  std::set<Attempt> in_doubt_;     // bids without an answer: they may have got something
  bool rest_planned_ = false;      // of the session with the lock
  int leaving_ = 0;                // marks that are made on the session that listens
  std::string told_by_;            // the server of that session
  std::set<std::string> to_hear_;  // to be listened to, or not any more
  std::set<std::string> to_look_;
  bool look_planned_ = false;   // or under way
  bool sees_no_locks_ = false;  // that session, as on a standby, where locks are judges
  bool looks_again_ = false;
  Duration look_pause_{};  // where nothing is told
  Home home_;
  // That listens and looks: the one of the locks must not be kept busy. On an adopted connection
  // there is only that one, and nobody listens. A crash may forget what is written there: see
  // greet_side.
  const std::unique_ptr<Session> own_side_;
  Session& side_;
  // They only make it quicker, so they go when somebody who is needed finds no connection: it may
  // be theirs.
  std::vector<std::unique_ptr<Waiter>> waiters_;
  std::map<Operation, std::unique_ptr<PoolerProbe>> probes_;  // each of a check
  net::Calls calls_;  // the first to go: nothing that is still under way comes to anything then
};

}  // namespace conclave::postgres
