// What this process has to do with each election: who listens, and whether it leads there.
#pragma once

#include <functional>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <conclave/store.hpp>

namespace conclave::redis {

// Whoever listens, in the order in which they came.
struct Ear {
  std::size_t candidate =
      0;  // a hash of its name: who is told in error that it is his turn asks in vain
  Sink sink;
  const std::pmr::string* spot = nullptr;  // its key
  Operation next = 0;                      // on the same spot
};

struct Spot {
  Operation first_ear = 0;
  bool listens = false;                           // the server tells us of it
  Attempt led{};                                  // granted here, and not lost or resigned since
  std::unique_ptr<const std::string> metadata{};  // of that grant, unless empty

  [[nodiscard]] bool is_heard() const noexcept { return first_ear != 0; }
  [[nodiscard]] bool is_led() const noexcept { return led != Attempt{}; }
};

// By the key of the record. There may be ten thousand of them: they take little room, and lie close
// together, for what lies between them could not be given back.
class Spots {
 public:
  explicit Spots(const std::string& prefix) : before_(prefix + "{") {}

  [[nodiscard]] Spot* find(std::string_view record);
  Spot& at(std::string_view record);
  void drop_if_idle(std::string_view record);

  void listen(std::string_view record, Operation operation, std::string_view candidate, Sink sink);
  // The record whose observation that was, when nobody listens to it any more.
  std::optional<std::string> cancel(Operation operation);

  // Sinks may do anything meanwhile, also end the life of this.
  void tell(const std::string& record, const Observation& what);
  void tell_turn(const std::string& record, const std::string& candidate);

  template <typename Act>
  void for_each(Act act) const {
    for (const auto& [key, spot] : spots_) act(record_of(key), spot);
  }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  using Key = std::pmr::string;  // of a record what differs from others
  using Map = std::pmr::unordered_map<Key, Spot, Hash, std::equal_to<>>;

  [[nodiscard]] std::string_view key_of(std::string_view record) const;
  [[nodiscard]] std::string record_of(std::string_view key) const;
  [[nodiscard]] std::vector<Operation> ears_on(std::string_view record);
  Map::iterator make(std::string_view record);
  void drop_if_idle(Map::iterator at);

  const std::string before_;  // the key, in a record
  std::pmr::unsynchronized_pool_resource room_;
  Map spots_{&room_};
  std::pmr::unordered_map<Operation, Ear> ears_{&room_};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace conclave::redis
