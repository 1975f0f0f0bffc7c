// Result<T>: a T, or the Error that kept it from being made.
//
//   Result<Timing> timing = resolve_timing(options);
//   if (!timing) return timing.error();
//   use(*timing);
#pragma once

#include <cassert>
#include <utility>
#include <variant>

#include <conclave/error.hpp>

namespace conclave {

template <typename T>
class [[nodiscard]] Result {
 public:
  // Implicit on purpose: a function returns either its value or an Error.
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  // Asking for the one that is not there is a bug.
  [[nodiscard]] const T& value() const& {
    assert(has_value());
    return *std::get_if<0>(&content_);
  }
  [[nodiscard]] T&& value() && {
    assert(has_value());
    return std::move(*std::get_if<0>(&content_));
  }
  [[nodiscard]] const Error& error() const& {
    assert(!has_value());
    return *std::get_if<1>(&content_);
  }

  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> content_;
};

}  // namespace conclave
