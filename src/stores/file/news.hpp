// Tells observers what becomes of elections, as soon as the kernel says that something has changed.
//
// One look serves all observers of an election in this store object, however many. Nobody polls:
// between two changes nothing happens, and no file is open.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stores/file/seats.hpp"
#include "stores/file/watch.hpp"

namespace conclave::file {

// Used on the loop.
class News {
 public:
  struct Where {
    std::string directory;
    Duration lease{};
  };

  // Seats that turn out to be lost are dropped, after their candidates were told.
  News(net::AsioLoop& loop, Seats& seats, Where where);

  [[nodiscard]] bool pushes() const noexcept { return watch_.works(); }

  void observe(Operation operation, std::string election, std::string candidate, Sink sink);
  void cancel(Operation operation);

  // Whether the place was free when we last looked. A hint.
  [[nodiscard]] bool seems_free(const std::string& election) const;

  // Something may have changed: looks, and tells what is new.
  void look(const std::string& election);

 private:
  struct Observer {
    Operation operation{};
    std::string candidate;
    Sink sink;
    bool over = false;
  };

  struct View {
    explicit View(Place at) : place(std::move(at)) {}

    Place place;
    std::vector<std::shared_ptr<Observer>> observers{};
    std::optional<Observation> told{};
    Term highest{};  // what an absence refers to
    Term lost{};     // the last term of our own that was found to be lost
    int file_watch = -1;
    int folder_watch = -1;
    Identity watched{};
    std::uint64_t chase = 0;  // the present series of looks
  };

  void heard(std::span<const WatchEvent> events);
  [[nodiscard]] std::vector<std::string> concerned_by(const WatchEvent& event) const;
  void forget(int watch);
  void chase(const std::string& election, View& view);
  void look_in(Duration pause, const std::string& election, std::uint64_t chase);
  bool refresh(const std::string& election, View& view);
  [[nodiscard]] Result<Look> watched_look(const std::string& election, View& view);
  bool watch(const std::string& election, View& view, const Look& look);
  void unwatch(const std::string& election, int& watch);
  void tell(View& view, const Observation& what);
  void post(const std::shared_ptr<Observer>& who, std::shared_ptr<const Observation> what);
  void drop_when_told(const std::string& election, const View& view, const Slot& lost);

  net::AsioLoop& loop_;
  Seats& seats_;
  Where where_;
  std::map<std::string, View> views_;
  std::map<Operation, std::string> operations_;
  std::multimap<int, std::string> watched_;  // folders have many
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Watch watch_;
};

}  // namespace conclave::file
