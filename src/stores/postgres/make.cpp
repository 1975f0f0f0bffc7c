#include <stdexcept>

#include "stores/postgres/postgres_store.hpp"

namespace conclave {

std::shared_ptr<Store> postgres::make_store(Settings settings, const std::shared_ptr<Loop>& given,
                                            std::shared_ptr<PGconn> adopted) {
  const auto loop = net::given_or_new(given);
  return keep_with_loop(
      loop, std::make_shared<PostgresStore>(
                loop, std::make_shared<const Settings>(std::move(settings)), std::move(adopted)));
}

std::shared_ptr<Store> make_postgres_store(PostgresOptions options) {
  auto settings = postgres::settings_of(options);
  if (!settings) throw std::invalid_argument(settings.error().message);
  return postgres::make_store(*std::move(settings), options.loop, std::move(options.connection));
}

}  // namespace conclave
