// Commands over a connection of our own: pipelined, answered in their order.
#pragma once

#include <deque>

#include "stores/redis/commands.hpp"
#include "stores/redis/line.hpp"

namespace conclave::redis {

class Link final : public Commands {
 public:
  Link(net::AsioLoop& loop, std::shared_ptr<const Settings> settings);

  void prepare(Ready ready) override;
  void send(Command command, Done done) override;
  void send_for_others(Command command, Done done) override;
  [[nodiscard]] const std::string& where() const override { return settings_->where; }
  [[nodiscard]] const Greeting& greeting() const override { return greeting_; }
  void greet_again(const Error& why) override { line_.fail(why); }

 private:
  struct Pending {
    Instant sent{};
    Done done{};
  };

  void ready(const Greeting& greeting);
  void received(RedisReply reply);
  void broken(const Error& why);
  void watch();

  net::AsioLoop& loop_;
  const std::shared_ptr<const Settings> settings_;
  Greeting greeting_;
  std::vector<Ready> waiting_;
  std::deque<Pending> pending_;
  bool watching_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Line line_;
};

}  // namespace conclave::redis
