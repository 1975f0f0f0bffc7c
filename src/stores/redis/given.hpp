// Commands over the application's own client, which waits for each reply: on a thread for that.
#pragma once

#include "stores/redis/worker.hpp"

namespace conclave::redis {

class Given final : public Commands {
 public:
  // Whoever makes it keeps the worker until after it, off the loop: a client may hang.
  Given(net::AsioLoop& loop, std::shared_ptr<Worker> worker, std::string prefix);
  ~Given() override;
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;

  void prepare(Ready ready) override;
  void send(Command command, Done done) override;
  [[nodiscard]] const std::string& where() const override { return where_; }
  [[nodiscard]] const Greeting& greeting() const override { return greeting_; }
  void greet_again(const Error& why) override;

 private:
  enum class State { unknown, greeting, known };

  void greet();
  void note();
  void is_known(const std::optional<Error>& failed);

  net::AsioLoop& loop_;
  const std::shared_ptr<Worker> worker_;
  const std::string prefix_;
  const std::string where_ = "the Redis server of the application's client";
  State state_ = State::unknown;
  Greeting greeting_;
  std::shared_ptr<std::vector<RedisReply>> greetings_;  // of the present greeting
  std::vector<Ready> waiting_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace conclave::redis
