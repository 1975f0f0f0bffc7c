// Calls user code, and makes an error of what it throws.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include <conclave/error.hpp>

namespace conclave::runtime {

template <typename Call>
[[nodiscard]] std::optional<Error> contain(const std::string& name, Call&& call) {
  try {
    call();
    return std::nullopt;
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::work_failed, name + " threw: " + thrown.what(), false, false};
  } catch (...) {
    return Error{ErrorCode::work_failed, name + " threw something that is no std::exception", false,
                 false};
  }
}

}  // namespace conclave::runtime
