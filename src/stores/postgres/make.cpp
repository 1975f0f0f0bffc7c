#include <stdexcept>

#include "stores/postgres/postgres_store.hpp"

namespace conclave {

std::shared_ptr<Store> make_postgres_store(
    PostgresOptions options) {  // NOLINT(performance-unnecessary-value-param)
  auto checked = postgres::settings_of(options);
  if (!checked) throw std::invalid_argument(checked.error().message);
  const auto settings = std::make_shared<const postgres::Settings>(*std::move(checked));
  const auto loop = net::given_or_new(options.loop);
  return keep_with_loop(loop, std::make_shared<postgres::PostgresStore>(loop, settings));
}

}  // namespace conclave
