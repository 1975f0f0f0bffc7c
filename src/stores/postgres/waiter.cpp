#include "stores/postgres/waiter.hpp"

#include <utility>

namespace conclave::postgres {
namespace {

// It ends by itself after a lease: a blocked session would not notice that its client has gone, and
// nobody has to be interrupted when there is something better to wait for.
constexpr std::string_view limit = "select set_config('lock_timeout', $1, false)";
constexpr std::string_view wait_for = "select pg_advisory_xact_lock_shared($1::bigint)";

}  // namespace

Waiter::Waiter(net::AsioLoop& loop, const std::shared_ptr<const Settings>& settings, Next next,
               Gone gone)
    : loop_(loop),
      settings_(settings),
      next_(std::move(next)),
      gone_(std::move(gone)),
      session_(
          loop, settings, {.setup = [lease = settings->lease] {
            const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(lease).count();
            return std::vector<Statement>{{std::string(limit), {std::to_string(milliseconds)}}};
          }}) {}

void Waiter::go_on() {
  if (life_ || pauses_) return;
  life_ = next_();
  if (life_) wait();
}

void Waiter::wait() {
  session_.prepare([this, alive = std::weak_ptr(alive_)](const std::optional<Error>& failed) {
    if (alive.expired()) return;
    if (failed) return pause();
    session_.send({std::string(wait_for),
                   {std::to_string(*life_)},
                   settings_->lease + 2 * settings_->request_timeout},
                  [this, alive, since = loop_.clock().now()](const Result<Delivered>& answer) {
                    if (alive.expired()) return;
                    if (!answer && loop_.clock().now() - since < settings_->lease) return pause();
                    if (!answer) return choose_again();
                    const std::int64_t life = *std::exchange(life_, std::nullopt);
                    gone_(life);
                    if (!alive.expired()) go_on();
                  });
  });
}

// That was the lock's time-out, and there may be something better to wait for.
void Waiter::choose_again() {
  life_.reset();
  go_on();
}

void Waiter::pause() {
  life_.reset();
  pauses_ = true;
  loop_.post_at(loop_.clock().now() + settings_->request_timeout / 4,
                [this, alive = std::weak_ptr(alive_)] {
                  if (alive.expired()) return;
                  pauses_ = false;
                  go_on();
                });
}

}  // namespace conclave::postgres
