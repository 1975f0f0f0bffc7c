// What the suite needs of a store: connections to one backend, and a way to let time pass.
//
// All connections of a fixture share one executor. Where that has a thread of its own, run_until()
// asks its question there, so that the tests need no locks, and make_store() hands out pointers
// whose deleter destroys the store there.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <conclave/store.hpp>

namespace conclave::conformance {

// What not every store can do, or not every fixture can bring about.
enum class Ability {
  expires,         // a holder that is silent loses its place when its lease is over
  queues,          // bids stand in line
  pushes,          // observers are told of changes without looking
  stamps,          // every renewal gives the record a new version
  tells_renewals,  // and observers are told of each
  wipes,           // wipe() is possible
  stands_still,  // time passes only while a test waits, so that it can say what holds at an instant
};

class StoreFixture {
 public:
  virtual ~StoreFixture() = default;

  // Another connection to the one backend of this fixture, as another process would have it.
  virtual std::shared_ptr<Store> make_store(Duration lease) = 0;
  std::shared_ptr<Store> make_store() { return make_store(lease()); }

  // Short enough to be waited for, long enough for the store.
  [[nodiscard]] virtual Duration lease() const = 0;
  [[nodiscard]] virtual Instant now() const = 0;
  [[nodiscard]] virtual bool has(Ability ability) const = 0;

  // Lets things happen until `done` says true. False when it did not within a generous time: a hang
  // guard, not a measurement.
  virtual bool run_until(const std::function<bool()>& done) = 0;

  // Lets that much time pass.
  virtual void run_for(Duration duration) = 0;

  // Something has happened that run_until() may be waiting for. Called from any thread.
  virtual void changed() {}

  // Everything stored is lost, behind the back of all.
  virtual void wipe() {}

  // How often a test repeats itself that would do it so often on a store without a server.
  [[nodiscard]] virtual int rounds(int without_server) const { return without_server / 30 + 1; }
};

using MakeFixture = std::unique_ptr<StoreFixture> (*)();

}  // namespace conclave::conformance
