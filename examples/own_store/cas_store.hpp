// A store of one's own: elections in a service that can compare and swap.
//
//   auto loop = conclave::make_loop();
//   auto store = own_store::make_cas_store(
//       service, {.clock = loop->clock(), .executor = loop, .requests = conclave::make_loop()});
//   conclave::Candidate me(conclave::keep_with_loop(loop, store), "reports");
//
// What it does where the contract leaves room
//  - Candidates judge the leases, each by its own eyes: a leader that died is replaced when another
//    candidate has seen its record unchanged for a whole lease.
//  - No queue: when the place is free, whoever comes first has it.
//  - The service tells nobody anything. So observe() looks, four times in a lease.
//  - A renewal is confirmed as long as nobody has taken the place, also after the lease.
//  - Terms grow as long as the service keeps its data, and above what a bidder has seen even after.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include <conclave/store.hpp>

#include "cas.hpp"

namespace own_store {

struct CasOptions {
  conclave::Duration lease{std::chrono::seconds{3}};
  // Has to live as long as the executor.
  std::reference_wrapper<const conclave::Clock> clock;
  // Where the store is called and answers.
  std::shared_ptr<conclave::Executor> executor;
  // Where the service is called. That may block, so it is best a thread of its own; in tests it may
  // be the same.
  std::shared_ptr<conclave::Executor> requests;
};

// Destroy it on its executor; keep_with_loop() sees to that. Nothing is called afterwards. Throws
// std::invalid_argument, with a sentence, when the lease is out of its range.
[[nodiscard]] std::shared_ptr<conclave::Store> make_cas_store(std::shared_ptr<CasService> service,
                                                              CasOptions options);

}  // namespace own_store
