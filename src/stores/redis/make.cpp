#include <cassert>
#include <stdexcept>

#include <conclave/timing.hpp>

#include "net/loopback.hpp"
#include "stores/redis/given.hpp"
#include "stores/redis/keys.hpp"
#include "stores/redis/link.hpp"
#include "stores/redis/redis_store.hpp"
#include "stores/redis/rights.hpp"

namespace conclave {
namespace {

bool has_password(const redis::Settings& settings) {
  return !settings.password.empty() || !settings.password_file.empty() || settings.credentials;
}

}  // namespace

std::shared_ptr<Store> make_redis_store(
    RedisOptions options) {  // NOLINT(performance-unnecessary-value-param)
  auto checked = redis::settings_of(options);
  if (!checked) throw std::invalid_argument(checked.error().message);
  const auto settings = std::make_shared<const redis::Settings>(*std::move(checked));
  const auto loop = net::given_or_new(options.loop);
  const redis::StoreSettings store{
      .prefix = settings->prefix,
      .lease = settings->lease,
      .request_timeout = settings->request_timeout,
      .user = redis::user_of(*settings),
      .is_default_database = settings->database == 0,
      .is_near = net::is_loopback(settings->endpoint),
      .has_tls = settings->endpoint.tls.has_value(),
      .verifies = !settings->endpoint.tls || !settings->endpoint.tls->skip_verify,
      .has_password = has_password(*settings)};
  return keep_with_loop(loop,
                        std::make_shared<redis::RedisStore>(
                            loop, store, std::make_unique<redis::Link>(*loop, settings), settings));
}

std::shared_ptr<Store> make_redis_store(
    RedisExecute execute,
    RedisClientOptions options) {  // NOLINT(performance-unnecessary-value-param)
  if (!execute)
    throw std::invalid_argument("execute: it is empty: give a function that runs a command");
  if (auto error = redis::check_prefix(options.prefix)) throw std::invalid_argument(error->message);
  TimingOptions timing;
  timing.lease = options.lease;
  if (const auto refused = resolve_timing(timing); !refused) {
    throw std::invalid_argument(refused.error().message);
  }
  const auto loop = net::given_or_new(options.loop);
  const redis::StoreSettings settings{
      .prefix = options.prefix, .lease = options.lease, .request_timeout = options.lease / 8};
  auto worker = std::make_shared<redis::Worker>(loop, std::move(execute), settings.request_timeout);
  auto store = keep_with_loop(
      loop,
      std::make_shared<redis::RedisStore>(
          loop, settings, std::make_unique<redis::Given>(*loop, worker, options.prefix), nullptr));
  Store* const plain = store.get();
  // The worker goes last, and here: waiting for a client that hangs is not the loop's affair.
  return {plain, [loop, worker = std::move(worker), store = std::move(store)](Store*) mutable {
            if (loop->in_forked_child()) net::leave_alone(std::move(worker));
            store.reset();
            worker.reset();
          }};
}

}  // namespace conclave
