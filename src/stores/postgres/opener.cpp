#include "stores/postgres/opener.hpp"

#include "stores/postgres/settings.hpp"

namespace conclave::stores {
namespace {

Result<std::shared_ptr<Store>> open_postgres(std::string_view text, const StoreOptions& options) {
  auto settings = postgres::settings_of({.url = std::string(text)}, options.lease);
  if (!settings) return settings.error();
  return postgres::make_store(*std::move(settings), nullptr);
}

}  // namespace

const net::Opener postgres_opener{"postgres", {}, nullptr, open_postgres};
const net::Opener postgresql_opener{"postgresql", {}, nullptr, open_postgres};

}  // namespace conclave::stores
