// Tells when a descriptor that somebody else owns can be read or written: the socket of a client
// library which does its own reading, such as libpq.
//
//   Watch watch(loop);
//   watch.replace([&] { return library.connect(), library.socket(); });
//   watch.when_readable([&] { watch.use([&] { return library.read(), library.socket(); }); });
//
// All on the loop's thread. Handlers are never called inside a call of the watch, and not after its
// end; they may destroy it. In a child after fork() the descriptor is closed before fork() returns,
// and every call does nothing: so whatever opens or closes it does so within replace() or use(),
// for which fork() waits.
#pragma once

#include <functional>
#include <memory>

#include <conclave/export.hpp>

#include "net/asio_loop.hpp"
#include "net/fork.hpp"

namespace conclave::net {

class CONCLAVE_API Watch {
 public:
  using Call = std::function<int()>;  // returns the descriptor that there is after it, or -1
  using Handler = std::function<void()>;

  explicit Watch(AsioLoop& loop);
  ~Watch();  // its owner closes the descriptor, within replace() before
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // A call that may open a descriptor, close it, or both: a new one may have the number of the old.
  // What was waited for is forgotten.
  void replace(const Call& call);

  // A call that may close it, and opens none.
  void use(const Call& call);

  // Once, and each replaces the one before it. An error or the peer's end are both, too.
  void when_readable(Handler handler);
  void when_writable(Handler handler);

  [[nodiscard]] bool has_descriptor() const;

 private:
  struct Core;
  std::shared_ptr<Core> core_;
  ForkMark fork_;
};

}  // namespace conclave::net
