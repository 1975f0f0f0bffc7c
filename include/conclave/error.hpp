// What went wrong, as a value.
//
// A bug in a program asserts; a normal answer ("another one leads") is an ordinary value; only an
// operational failure is an Error. Its message is one sentence for a person, names the field or the
// server concerned and, where there is one, the fix. It never holds a password.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace conclave {

enum class ErrorCode {
  invalid_argument,  // an option, name or duration is out of its range
  invalid_state,     // the call does not fit now, such as start() while running
  timed_out,         // no answer within the request time-out
  cancelled,         // given up by the caller
  unavailable,       // the store cannot be reached, or says that it cannot serve now
  denied,            // wrong credentials, or missing rights
  unsupported,       // the record or the server is of a kind that this version does not understand
  corrupt,           // stored data does not make sense
  term_regressed,    // the store granted a term that is not above the highest seen
  election_ended,    // the election was ended for good
  work_failed,       // the application's own code failed
};

constexpr std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid argument";
    case ErrorCode::invalid_state: return "invalid state";
    case ErrorCode::timed_out: return "timed out";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::unavailable: return "unavailable";
    case ErrorCode::denied: return "denied";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::corrupt: return "corrupt";
    case ErrorCode::term_regressed: return "term regressed";
    case ErrorCode::election_ended: return "election ended";
    case ErrorCode::work_failed: return "work failed";
  }
  return "unknown";
}

struct Error {
  ErrorCode code = ErrorCode::unavailable;
  std::string message;
  bool retryable = false;  // the same call may succeed later without anybody changing anything
  bool in_doubt = false;   // the request may have been executed although no answer came

  // Two failures are the same when a person would not need to hear of the second one.
  friend bool operator==(const Error&, const Error&) = default;
};

[[nodiscard]] inline Error invalid_argument(std::string message) {
  return Error{ErrorCode::invalid_argument, std::move(message), false, false};
}

}  // namespace conclave
