// Reads who leads, and never leads itself.
//
//   Observer observer(store, "reports");
//   if (auto leader = observer.leader()) connect_to(leader->metadata);
//
// It is told of changes where the store tells, and looks every half lease besides, since a lease
// that merely runs out is not told by anybody. What it says is what it last saw: `age` tells how
// old that is.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <conclave/event.hpp>
#include <conclave/export.hpp>
#include <conclave/store.hpp>

namespace conclave {

// Who led when the store was last heard of.
struct Leader {
  std::string id;
  std::string metadata;
  Term term{};
  Duration age{};  // how long ago that was
};

class CONCLAVE_API Observer {
 public:
  // Throws std::invalid_argument when the name cannot be one of an election.
  Observer(std::shared_ptr<Store> store, std::string election);
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  // Empty when nobody leads, or when the store has not answered yet; see is_known().
  [[nodiscard]] std::optional<Leader> leader() const;

  // Whether the store has answered at all.
  [[nodiscard]] bool is_known() const;

  // Waits until somebody leads. Empty when the time has passed.
  [[nodiscard]] std::optional<Leader> wait_for_leader(Duration limit);

  // leader_changed, error, and stopped when the election was ended.
  [[nodiscard]] EventQueue& events();

 private:
  class Watch;
  std::shared_ptr<Watch> watch_;
};

}  // namespace conclave
