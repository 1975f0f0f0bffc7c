// What this process has to do with each election: who listens, and whether it leads there.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <conclave/store.hpp>

namespace conclave::redis {

struct Ear {
  Operation operation{};
  std::string candidate;
  Sink sink;
  bool over = false;
};

struct Spot {
  std::vector<std::shared_ptr<Ear>> ears;
  std::optional<Attempt> led{};                   // granted here, and not lost or resigned since
  std::unique_ptr<const std::string> metadata{};  // of that grant, unless empty

  [[nodiscard]] bool is_idle() const noexcept { return ears.empty() && !led; }
};

// By the key of the record.
class Spots {
 public:
  [[nodiscard]] Spot* find(const std::string& record);
  Spot& at(const std::string& record) { return spots_[record]; }
  void drop_if_idle(const std::string& record);

  void listen(const std::string& record, std::shared_ptr<Ear> ear);
  // The record whose observation that was, when nobody listens to it any more.
  std::optional<std::string> cancel(Operation operation);

  // Sinks may do anything meanwhile, also end the life of this.
  void tell(const std::string& record, const Observation& what);
  void tell_turn(const std::string& record, const std::string& candidate);

  template <typename Act>
  void for_each(Act act) const {
    for (const auto& [record, spot] : spots_) act(record, spot);
  }

 private:
  std::unordered_map<std::string, Spot> spots_;
  std::unordered_map<Operation, const std::string*>
      observations_;  // whose strings are the keys above
};

}  // namespace conclave::redis
