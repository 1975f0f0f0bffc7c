// A session that waits for the end of another process: for its lock.
#pragma once

#include <optional>

#include "stores/postgres/session.hpp"

namespace conclave::postgres {

class Waiter {
 public:
  using Gone = std::function<void(std::int64_t life)>;
  // Asked whenever it has nothing to do; none: later.
  using Next = std::function<std::optional<std::int64_t>()>;

  Waiter(net::AsioLoop& loop, std::shared_ptr<const Settings> settings, Next next, Gone gone);
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // There may be something to wait for.
  void go_on();
  [[nodiscard]] std::optional<std::int64_t> life() const noexcept { return life_; }

 private:
  void connect();
  void wait();
  void answered(bool well, Instant since);
  void pause(Duration length);

  net::AsioLoop& loop_;
  const std::shared_ptr<const Settings> settings_;
  const Next next_;
  const Gone gone_;
  std::optional<std::int64_t> life_;
  bool pauses_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::optional<Session> session_;
};

}  // namespace conclave::postgres
