// Candidates as processes of their own: `conclave join --json`, started and read by us.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <conclave/store.hpp>

#include "apps/conclave/arguments.hpp"

namespace conclave::app {

// What a candidate said, as far as measuring needs it.
struct Said {
  std::string candidate;
  std::string event;
  Instant at{};
  std::uint64_t term = 0;
  Instant valid_until{};
  std::string reason;
  std::string leader;
  std::string refusal;  // what the store refuses until somebody mends it
};

class Joiner {
 public:
  Joiner(const StoreArguments& store, const std::string& election, std::string id);
  ~Joiner();  // SIGKILL, unless it has ended
  Joiner(Joiner&& other) noexcept;
  Joiner& operator=(Joiner&& other) noexcept;

  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  [[nodiscard]] int pid() const noexcept { return pid_; }
  [[nodiscard]] int fd() const noexcept { return output_; }

  void send(int signal) const;
  void wait_for_end();

  // Reads what has come, and gives the whole lines of it.
  [[nodiscard]] std::vector<Said> read();

 private:
  std::string id_;
  int pid_ = -1;
  int output_ = -1;
  std::string rest_;
};

// A crowd of them, and what they say in the order in which it is read.
class Crowd {
 public:
  Crowd(StoreArguments store, std::string election)
      : store_(std::move(store)), election_(std::move(election)) {}

  void add(const std::string& id) { joiners_.emplace_back(store_, election_, id); }
  void remove(const std::string& id);
  void stop();  // all of them, gracefully: a place that is held is given back
  [[nodiscard]] Joiner& at(const std::string& id);
  [[nodiscard]] const std::vector<Joiner>& all() const noexcept { return joiners_; }

  // The next thing that one of them says; nothing when the time has passed, or when there is
  // something to read at that other descriptor.
  [[nodiscard]] std::optional<Said> next(Duration limit, int interrupt = -1);

 private:
  StoreArguments store_;
  std::string election_;
  std::vector<Joiner> joiners_;
  std::vector<Said> said_;  // read, not yet given
};

}  // namespace conclave::app
