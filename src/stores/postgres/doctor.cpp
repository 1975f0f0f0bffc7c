#include "stores/postgres/postgres_calls.hpp"

namespace conclave::postgres {

Operation PostgresStore::check(std::function<void(CheckAnswer)> done) {
  return ask<CheckAnswer>(home_, std::move(done), {"select 1"},
                          [](const Delivered&) -> CheckAnswer { return std::vector<Finding>{}; });
}

}  // namespace conclave::postgres
