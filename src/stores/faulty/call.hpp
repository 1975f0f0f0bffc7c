// A call in flight. However many answers there are in the end, the caller hears the first only.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include <conclave/store.hpp>

namespace conclave::testing {

// A renewal of several terms has as many answers, all other calls have one.
class Pending {
 public:
  explicit Pending(std::size_t answers) : answered_(answers, false), missing_(answers) {}
  virtual ~Pending() = default;

  [[nodiscard]] std::size_t answers() const noexcept { return answered_.size(); }
  [[nodiscard]] bool finished() const noexcept { return missing_ == 0; }

  // The answer to one that was given up.
  virtual void give_up(std::size_t index, const Error& error) = 0;

  std::optional<Operation> inside;  // once it was sent to the store inside

 protected:
  bool first_answer(std::size_t index) {
    if (answered_[index]) return false;
    answered_[index] = true;
    missing_ -= 1;
    return true;
  }

 private:
  std::vector<bool> answered_;
  std::size_t missing_;
};

template <typename Answered>
class Call final : public Pending {
 public:
  using Done = std::function<void(std::size_t, Answered)>;
  using Send = std::function<Operation(Done)>;

  Call(std::size_t answers, Send send, Done done)
      : Pending(answers), send_(std::move(send)), done_(std::move(done)) {}

  [[nodiscard]] Operation send(Done heard) const { return send_(std::move(heard)); }

  void answer(std::size_t index, Answered answer) {
    if (first_answer(index)) done_(index, std::move(answer));
  }

  void give_up(std::size_t index, const Error& error) override { answer(index, Unknown{error}); }

 private:
  Send send_;
  Done done_;
};

}  // namespace conclave::testing
