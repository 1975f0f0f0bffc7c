// Where the store was left out of the build: no URL of it can be opened, so nobody comes here.
#include "apps/conclave/bench.hpp"

namespace conclave::app {

RawClients make_raw_postgres(const StoreArguments&) {
  return {nullptr, nullptr, "not available: this build has no store for it"};
}

std::unique_ptr<Meter> make_postgres_meter(const StoreArguments&) { return nullptr; }

}  // namespace conclave::app
