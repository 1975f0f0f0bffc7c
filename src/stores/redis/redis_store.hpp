// The verbs on a Redis server. Everything happens on the loop.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "net/calls.hpp"
#include "stores/redis/commands.hpp"
#include "stores/redis/inbox.hpp"
#include "stores/redis/replies.hpp"
#include "stores/redis/spots.hpp"

namespace conclave::redis {

// What a store needs to know, whoever executes its commands.
struct StoreSettings {
  std::string prefix{};
  Duration lease{};
  Duration request_timeout{};
  std::string user = "<user>";  // for the line that grants something
  bool is_default_database = true;
  // Of the way to the server. Of a client that was given nothing is known.
  bool is_near = true;  // it does not leave this machine
  bool has_tls = false;
  bool verifies = true;
  bool has_password = true;
};

class RedisStore final : public Store {
 public:
  // Without settings for an inbox nobody is woken: candidates look.
  RedisStore(std::shared_ptr<net::AsioLoop> loop, StoreSettings settings,
             std::unique_ptr<Commands> commands, std::shared_ptr<const Settings> inbox);
  ~RedisStore() override;
  RedisStore(const RedisStore&) = delete;
  RedisStore& operator=(const RedisStore&) = delete;

  const Traits& traits() const noexcept override { return traits_; }
  Duration lease() const noexcept override { return settings_.lease; }
  const Clock& clock() const noexcept override { return loop_->clock(); }
  Executor& executor() noexcept override { return *loop_; }

  Operation campaign(Bid bid, std::function<void(CampaignAnswer)> done) override;
  Operation renew(std::vector<Renewal> due,
                  std::function<void(std::size_t, RenewAnswer)> done) override;
  Operation resign(Resignation resignation, std::function<void(Answer)> done) override;
  Operation observe(std::string election, std::string candidate, Sink sink) override;
  Operation inspect(std::string election, std::function<void(InspectAnswer)> done) override;
  Operation end(std::string election, std::function<void(Answer)> done) override;
  Operation remove(std::string election, Remains remains,
                   std::function<void(Answer)> done) override;
  Operation check(std::function<void(CheckAnswer)> done) override;
  void cancel(Operation operation) override;

 private:
  // Whether the server can reach us by a message. Bids wait until it is known.
  enum class Hearing { unsure, yes, no };

  struct Vanished {
    Instant since{};
    Instant last{};
    Duration lease{};  // of the leader that listens, at most
  };
  struct Renewing;  // renewals that were asked for together
  using RenewingPtr = std::shared_ptr<Renewing>;

  template <typename Answered, typename Act>
  Operation ask(std::function<void(Answered)> done, const Script& script, Command keys,
                Command arguments, Act understand);

  // ---- campaign
  void bid(const Bid& bid, const net::CallPtr<CampaignAnswer>& call);
  CampaignAnswer answered(const Bid& bid, const Result<Delivered>& answer);
  void remind(const Bid& bid, Duration wait);
  void vanished(const std::string& record, Duration lease);
  [[nodiscard]] bool is_patient(const std::string& record) const;

  // ---- renew and resign
  void renew_some(const RenewingPtr& renewing, std::size_t first, std::size_t count);
  void renewed_some(const RenewingPtr& renewing, std::size_t first, std::size_t count,
                    const Result<Delivered>& answer);
  void renewed(const RenewingPtr& renewing, std::size_t index, std::string_view word, Instant sent);
  void repair(const RenewingPtr& renewing, std::size_t index);
  void tell_renewed(const RenewingPtr& renewing, std::size_t index, RenewAnswer with);
  Answer resigned(const Resignation& resignation, const RedisReply& reply);
  void announce(const std::string& record, Term term);

  // ---- leading and listening
  void leads(const std::string& record, const Bid& bid);
  void leads_no_more(const std::string& record, const Attempt& attempt);
  void heard(const std::string& channel, const std::string& letter);
  void is_hearing(const std::string& channel);
  void is_deaf();
  void is_refused(const Error& why);
  [[nodiscard]] std::vector<std::string> wanted_channels() const;
  void look_soon(const std::string& record);
  void look_later(const std::vector<std::string>& records);
  void look();
  void look_at(const std::vector<std::string>& records);

  // ---- what an answer means
  [[nodiscard]] Asked asked(const std::string& record) const;
  [[nodiscard]] std::string key(const std::string& election) const;
  template <typename Answered>
  Answered not_understood(const Result<Delivered>& answer, const std::string& record,
                          std::string_view to);
  [[nodiscard]] Instant now() const noexcept { return clock().now(); }

  const std::shared_ptr<net::AsioLoop> loop_;
  const StoreSettings settings_;
  Traits traits_;
  std::string inbox_id_;  // the channel of this process
  Hearing hearing_ = Hearing::unsure;
  bool stood_deaf_ = false;  // some bid stands without an inbox
  std::vector<Task> until_sure_;
  std::optional<Error> refusal_;                                   // to listen
  std::set<std::pair<std::string, std::string>> told_of_refusal_;  // election and candidate
  Spots spots_{settings_.prefix};
  std::map<std::string, Vanished> vanished_;  // records that a leader should write anew
  std::set<std::string> to_look_;
  bool look_planned_ = false;
  std::unique_ptr<Commands> commands_;
  std::unique_ptr<Inbox> inbox_;
  net::Calls calls_;  // the first to go: nothing that is still under way comes to anything then
};

}  // namespace conclave::redis
