// The verbs on a directory of elections. Everything happens on the loop, except the waiting for the
// disk; see turns.hpp.
#pragma once

#include <memory>

#include "stores/file/news.hpp"
#include "stores/file/seats.hpp"
#include "stores/file/turns.hpp"

namespace conclave::file {

class FileStore final : public Store {
 public:
  // The directory is prepared.
  FileStore(const std::shared_ptr<net::AsioLoop>& loop, std::string directory, Duration lease);

  const Traits& traits() const noexcept override { return traits_; }
  Duration lease() const noexcept override { return lease_; }
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
  // A call that was not answered yet.
  template <typename Answered>
  struct Call {
    Operation operation{};
    std::function<void(Answered)> done;
    bool answered = false;
  };
  template <typename Answered>
  using CallPtr = std::shared_ptr<Call<Answered>>;

  template <typename Answered, typename Act>
  Operation begin(const std::string& election, std::function<void(Answered)> done, Act act);
  template <typename Answered>
  void answer(const CallPtr<Answered>& call, Answered with);
  template <typename Done, typename Answered>
  Operation reply(Done done, Answered with);
  Operation at_disk(const std::string& election, std::function<void(Answer)> done,
                    Answer (Place::*work)() const);

  [[nodiscard]] Place place(const std::string& election) const { return {directory_, election}; }
  [[nodiscard]] Instant now() const noexcept { return clock().now(); }
  void bid(const Bid& bid, const CallPtr<CampaignAnswer>& call);
  CampaignAnswer taken(const Bid& bid, Instant sent, Take take);
  CampaignAnswer granted_again(const Bid& bid, const Seat& seat, Instant sent);
  [[nodiscard]] Held held(const Look& look) const;
  RenewAnswer renewed(const Renewal& renewal);
  [[nodiscard]] RenewAnswer not_held(const Renewal& renewal) const;
  Answer resigned(const Resignation& resignation);

  std::shared_ptr<net::AsioLoop> loop_;
  std::string directory_;
  Duration lease_;
  Traits traits_;
  Seats seats_;
  News news_;
  Turns turns_;
  std::map<Operation, Task> calls_;  // how each is answered when it is given up
  Operation last_operation_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace conclave::file
