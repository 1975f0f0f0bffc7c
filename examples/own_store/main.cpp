// Two candidates on a store of one's own: when the first one stops, the second one leads.
#include <chrono>
#include <cstdio>

#include <conclave/candidate.hpp>
#include <conclave/loop.hpp>
#include <conclave/waits.hpp>

#include "cas_store.hpp"

namespace {

using namespace std::chrono_literals;

// As another process would connect: a loop for the store, and a thread that waits for the service.
std::shared_ptr<conclave::Store> connect(const std::shared_ptr<own_store::CasService>& service) {
  const auto loop = conclave::make_loop();
  return conclave::keep_with_loop(
      loop, own_store::make_cas_store(service, {.lease = 1s,
                                                .clock = loop->clock(),
                                                .executor = loop,
                                                .requests = conclave::make_loop()}));
}

bool leads(conclave::Candidate& candidate) {
  if (!conclave::wait_until_leader(candidate, 10s)) return false;
  std::printf("%s leads in term %llu\n", candidate.id().c_str(),
              static_cast<unsigned long long>(candidate.snapshot().term.value));
  return true;
}

}  // namespace

int main() {
  const auto service = std::make_shared<own_store::MemoryCas>();
  conclave::Candidate first(connect(service), "reports", {.id = "first"});
  conclave::Candidate second(connect(service), "reports", {.id = "second"});
  first.start();
  if (!leads(first)) return 1;
  second.start();
  if (conclave::wait_until_role_known(second, 10s) != conclave::Role::follower) return 1;
  std::printf("second waits\n");
  first.stop();
  return leads(second) ? 0 : 1;
}
