// Commands over the application's own client, which waits for each reply: on a thread for that.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "net/asio_loop.hpp"
#include "stores/redis/commands.hpp"

namespace conclave::redis {

class Given final : public Commands {
 public:
  Given(std::shared_ptr<net::AsioLoop> loop, RedisExecute execute, std::string prefix);
  ~Given() override;
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;

  void prepare(Ready ready) override;
  void send(Command command, Done done) override;
  [[nodiscard]] const std::string& where() const override { return where_; }
  [[nodiscard]] const Greeting& greeting() const override { return greeting_; }
  void greet_again(const Error& why) override;

 private:
  struct Job {
    Command command;
    Done done;
  };
  enum class State { unknown, greeting, known };

  void greet();
  void note();
  void is_known(const std::optional<Error>& failed);
  void work();
  [[nodiscard]] Result<Delivered> execute(const Command& command) const;

  const std::shared_ptr<net::AsioLoop> loop_;
  const RedisExecute execute_;
  const std::string prefix_;
  const std::string where_ = "the Redis server of the application's client";
  State state_ = State::unknown;
  Greeting greeting_;
  std::shared_ptr<std::vector<RedisReply>> greetings_;  // of the present greeting
  std::vector<Ready> waiting_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace conclave::redis
