// The service that this example keeps elections in: values under keys, and a write that happens
// only if nobody else has written first. It has no push, no queue, no clock and no expiry, so what
// works here works on nearly everything that people run.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace own_store {

struct CasValue {
  std::uint64_t version = 0;  // a new one for every write; never used twice for a key
  std::string text;
};

// What a store asks of the service. Both calls may take their time, but have to end by themselves:
// give the client of your service a time-out. They throw a std::exception when there was no answer;
// a write may then have happened or not.
//
// Reads must not be stale. Two leaders they could not make, since the write compares; but a leader
// would give up its term because of a record that it has long replaced.
class CasService {
 public:
  virtual ~CasService() = default;

  [[nodiscard]] virtual std::optional<CasValue> read(const std::string& key) = 0;

  // Writes if the key has that version, or if there is no such key and none is expected. False when
  // it is otherwise: then nothing was written.
  [[nodiscard]] virtual bool write_if(const std::string& key, std::optional<std::uint64_t> expected,
                                      const std::string& text) = 0;
};

// Stands for your service. Any thread may use it.
class MemoryCas final : public CasService {
 public:
  std::optional<CasValue> read(const std::string& key) override {
    const std::scoped_lock lock(mutex_);
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  bool write_if(const std::string& key, std::optional<std::uint64_t> expected,
                const std::string& text) override {
    const std::scoped_lock lock(mutex_);
    const auto found = values_.find(key);
    const auto present =
        found == values_.end() ? std::nullopt : std::optional(found->second.version);
    if (present != expected) return false;
    values_[key] = {++last_version_, text};
    return true;
  }

  // Loses everything, as a service does whose disk is gone. For tests.
  void wipe() {
    const std::scoped_lock lock(mutex_);
    values_.clear();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, CasValue> values_;
  std::uint64_t last_version_ = 0;
};

}  // namespace own_store
