#include "stores/postgres/waiter.hpp"

#include <utility>

#include "stores/postgres/statements.hpp"
#include "stores/postgres/texts.hpp"

namespace conclave::postgres {
namespace {

// It ends by itself after a lease and a tenth, by whichever clock: a blocked session would not
// notice that its client has gone, and nobody has to be interrupted when there is something better
// to wait for.
constexpr std::string_view limit_waits = "select set_config('lock_timeout', $1, false)";

// That time-out is caught there, since the server writes into its log what fails.
std::string wait_for(std::int64_t life) {
  return anonymous_block("perform pg_advisory_xact_lock_shared(" + std::to_string(life) +
                         "); exception when lock_not_available then null");
}

}  // namespace

Waiter::Waiter(net::AsioLoop& loop, std::shared_ptr<const Settings> settings, Next next, Gone gone)
    : loop_(loop), settings_(std::move(settings)), next_(std::move(next)), gone_(std::move(gone)) {}

void Waiter::go_on() {
  if (life_ || pauses_) return;
  life_ = next_();
  if (!life_) return;
  if (!session_) connect();
  wait();
}

void Waiter::connect() {
  session_.emplace(loop_, settings_, Session::Handlers{.setup = [lease = settings_->lease] {
                     return std::vector<Statement>{
                         {std::string(limit_waits), {in_milliseconds(lease + lease / 10)}}};
                   }});
}

void Waiter::wait() {
  session_->prepare([this, alive = std::weak_ptr(alive_)](const std::optional<Error>& failed) {
    if (alive.expired()) return;
    if (failed) {
      // The connections may be counted, and others need them more.
      session_.reset();
      return pause(settings_->lease);
    }
    const Duration limit = settings_->lease * 6 / 5 + 2 * settings_->request_timeout;
    session_->send({wait_for(*life_), {}, limit},
                   [this, alive, since = loop_.clock().now()](const Result<Delivered>& answer) {
                     if (!alive.expired()) answered(answer.has_value(), since);
                   });
  });
}

void Waiter::answered(bool well, Instant since) {
  const Duration lease = settings_->lease;
  const std::int64_t life = *std::exchange(life_, std::nullopt);
  // The lock's time-out, by the server's clock: there may be something better to wait for now. What
  // became free in that very moment is found so at once.
  if (loop_.clock().now() - since >= lease - lease / 100) return go_on();
  if (!well) return pause(settings_->request_timeout / 4);
  const std::weak_ptr alive = alive_;
  gone_(life);
  if (!alive.expired()) go_on();
}

void Waiter::pause(Duration length) {
  life_.reset();
  pauses_ = true;
  loop_.post_at(loop_.clock().now() + length, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    pauses_ = false;
    go_on();
  });
}

}  // namespace conclave::postgres
