#include <conclave/export.hpp>
#include <conclave/loop.hpp>
#include <conclave/memory.hpp>

#include "net/opener.hpp"

namespace conclave::stores {
namespace {

// Every opened store is a world of its own: who wants to share, shares the store object.
Result<std::shared_ptr<Store>> open_memory(net::Url& url, const StoreOptions& options) {
  if (!url.host.empty() || !url.path.empty()) {
    return invalid_argument("memory: takes neither host nor path; write memory: alone");
  }
  TimingOptions timing;
  timing.lease = options.lease.value_or(std::chrono::seconds{3});
  if (const auto checked = resolve_timing(timing); !checked) return checked.error();
  auto loop = make_loop();
  return keep_with_loop(
      loop, make_memory_store(make_memory_space(),
                              {.lease = *timing.lease, .clock = loop->clock(), .executor = *loop}));
}

}  // namespace

extern CONCLAVE_API const net::Opener memory_opener;
const net::Opener memory_opener{"memory", {}, open_memory};

}  // namespace conclave::stores
