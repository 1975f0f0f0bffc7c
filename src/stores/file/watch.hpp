// One inotify descriptor on the loop: hears what happens to files and folders.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "net/asio_loop.hpp"

namespace conclave::file {

struct WatchEvent {
  int watch = -1;           // -1: events were lost, anything may have happened
  bool closed = false;      // by somebody who could write: perhaps the end of a lock
  bool forgotten = false;   // what was watched is gone or moved, and the watch is over
  std::string_view name{};  // in a folder: the file concerned
};

class Watch {
 public:
  // All that has happened since it was last called.
  using Listener = std::function<void(std::span<const WatchEvent>)>;

  // Without a descriptor to be had it watches nothing; see works(). The listener is called on the
  // loop, and not any more when this object is gone.
  Watch(net::AsioLoop& loop, Listener listener);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  [[nodiscard]] bool works() const noexcept;

  // What becomes of a file: changed, closed, unlinked, moved. Nothing when it cannot be watched.
  [[nodiscard]] int add_file(const std::string& path);
  // New names in a folder.
  [[nodiscard]] int add_folder(const std::string& path);
  void remove(int watch);

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace conclave::file
