#include <conclave/leadership.hpp>

#include <utility>

#include "runtime/engine.hpp"

namespace conclave {

Leadership::Leadership(Leadership&& other) noexcept = default;

Leadership& Leadership::operator=(Leadership&& other) noexcept {
  if (this == &other) return *this;
  Leadership before(std::move(*this));
  engine_ = std::move(other.engine_);
  term_ = other.term_;
  stopping_ = std::move(other.stopping_);
  hand_over_ = std::move(other.hand_over_);
  return *this;
}

Leadership::~Leadership() {
  if (!engine_) return;
  if (engine_->in_forked_child()) {
    net::leave_alone(std::move(engine_));
    net::leave_alone(std::move(hand_over_));
  } else {
    hand_over_.reset();
    engine_->work_ended(term_);
  }
}

bool Leadership::valid() const noexcept { return covers(Duration::zero()); }

bool Leadership::covers(Duration work) const noexcept {
  return engine_ && engine_->holds(term_, work);
}

}  // namespace conclave
