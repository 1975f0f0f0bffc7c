#include "stores/redis/link.hpp"

#include <utility>

#include "stores/redis/trouble.hpp"

namespace conclave::redis {

Link::Link(net::AsioLoop& loop, std::shared_ptr<const Settings> settings)
    : loop_(loop),
      settings_(std::move(settings)),
      line_(loop, settings_, Line::Purpose::commands,
            {.ready = [this](const Greeting& greeting) { ready(greeting); },
             .received = [this](RedisReply reply) { received(std::move(reply)); },
             .broken = [this](const Error& why) { broken(why); }}) {}

void Link::prepare(Ready ready) {
  if (line_.is_ready()) return ready(std::nullopt);
  if (line_.rests_for()) {
    return loop_.post(
        [why = line_.rests_for(), ready = std::move(ready), alive = std::weak_ptr(alive_)] {
          if (!alive.expired()) ready(why);
        });
  }
  waiting_.push_back(std::move(ready));
  line_.open();
}

void Link::send(Command command, Done done) {
  pending_.push_back({loop_.clock().now(), std::move(done)});
  line_.send(command);
  watch();
}

// A server sends last what it has to send to whom it owed an answer first: so it is asked for
// something else before, in the same breath.
void Link::send_for_others(Command command, Done done) {
  const Instant now = loop_.clock().now();
  pending_.push_back({now, [](const Result<Delivered>&) {}});
  pending_.push_back({now, std::move(done)});
  line_.send_both({"PING"}, command);
  watch();
}

// The oldest request decides: what comes after it cannot be answered before it.
void Link::watch() {
  if (watching_ || pending_.empty()) return;
  watching_ = true;
  loop_.post_at(
      pending_.front().sent + settings_->request_timeout, [this, alive = std::weak_ptr(alive_)] {
        if (alive.expired()) return;
        watching_ = false;
        if (pending_.empty()) return;
        const Instant limit = pending_.front().sent + settings_->request_timeout;
        if (loop_.clock().now() < limit) return watch();
        line_.fail(timed_out(where(), settings_->request_timeout, "a reply", "request_timeout"));
      });
}

void Link::ready(const Greeting& greeting) {
  greeting_ = greeting;
  const std::weak_ptr alive = alive_;
  for (const Ready& each : std::exchange(waiting_, {})) {
    if (alive.expired()) return;
    each(std::nullopt);
  }
}

void Link::received(RedisReply reply) {
  if (pending_.empty()) {
    return line_.fail(
        {ErrorCode::unsupported, where() + " sends replies that nobody asked for", true, false});
  }
  const Pending answered = std::move(pending_.front());
  pending_.pop_front();
  answered.done(Delivered{std::move(reply), answered.sent, loop_.clock().now()});
}

void Link::broken(const Error& why) {
  const std::weak_ptr alive = alive_;
  Error in_doubt = why;
  in_doubt.in_doubt = true;
  auto pending = std::exchange(pending_, {});
  for (const Ready& each : std::exchange(waiting_, {})) {
    if (alive.expired()) return;
    each(why);
  }
  for (const Pending& each : pending) {
    if (alive.expired()) return;
    each.done(in_doubt);
  }
}

}  // namespace conclave::redis
