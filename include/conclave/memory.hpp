// The store `memory:`: elections among the candidates of one process.
//
//   auto space = make_memory_space();
//   auto store = make_memory_store(space, {.lease = 3s, .clock = clock, .executor = executor});
//
// It keeps the whole contract of conclave/store.hpp: leases expire, terms grow, bids stand in a
// queue, observers are told. That makes it the store for tests, and for programs whose parts elect
// a leader among themselves. It is not shared between processes and does not outlive its own;
// check() says so.
//
// What it does where the contract leaves room
//  - Whoever judges the lease and whoever holds it read the same clock. An expired record is still
//    given away on evidence only, as the contract asks.
//  - A renewal is confirmed as long as nobody has taken the place, also after the lease.
//  - First come, first served. When the place becomes free, the first in the queue is told
//    YourTurn, all others Vacant, and a bid with k others before it is held back for k x 20 ms, at
//    most for one lease. After that it is granted: who is first and does not come may be dead, and
//    nobody waits for the dead. Whoever is held back is told YourTurn when its time has come.
//  - A standing bid that was not repeated for (place + 1) x 2 leases is dropped.
//  - A campaign with the attempt of the last term, once that was resigned, is refused as an invalid
//    state. A late copy of an older bid may still be granted; that lasts one lease, as everywhere.
//  - A held election is not removed: end it first.
#pragma once

#include <functional>
#include <memory>

#include <conclave/export.hpp>
#include <conclave/store.hpp>

namespace conclave {

// What the stores of one process share. Any number of store objects may use one, each from its own
// thread; it lives as long as the last of them.
class MemorySpace;

[[nodiscard]] CONCLAVE_API std::shared_ptr<MemorySpace> make_memory_space();

// Loses everything, as a server does that is restarted without its data. Observers stay, and are
// told nothing. For tests.
CONCLAVE_API void wipe(MemorySpace& space);

struct MemoryOptions {
  Duration lease{std::chrono::seconds{3}};
  // Both must outlive the store. All stores of a space have to read the same time.
  std::reference_wrapper<const Clock> clock;
  std::reference_wrapper<Executor> executor;
};

// A store object on that space. Destroy it on its executor, or when that does not run any more:
// nothing is called afterwards, not even for calls that were not answered yet. Throws
// std::invalid_argument, with a sentence, when the lease is out of its range.
[[nodiscard]] CONCLAVE_API std::shared_ptr<Store> make_memory_store(
    std::shared_ptr<MemorySpace> space, MemoryOptions options);

}  // namespace conclave
