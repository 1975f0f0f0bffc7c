// What the stores of all servers are given alike: times and passwords.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>

#include <conclave/export.hpp>
#include <conclave/result.hpp>
#include <conclave/time.hpp>

namespace conclave::net {

// The sentence that says which of the two does not do, and what to write.
[[nodiscard]] CONCLAVE_API std::optional<Error> check_times(Duration lease,
                                                            Duration request_timeout);
// An eighth of the lease where none is given.
[[nodiscard]] CONCLAVE_API Duration effective_request_timeout(Duration given, Duration lease);

// Whether there is one source of the password at most.
[[nodiscard]] CONCLAVE_API std::optional<Error> check_sources(const std::string& password,
                                                              const std::string& password_file,
                                                              bool has_credentials);

// Without the end of its line. The file is read when the password is needed: it may be another one
// by then.
[[nodiscard]] CONCLAVE_API Result<std::string> password_in_file(const std::string& path);

[[nodiscard]] CONCLAVE_API Error no_credentials(const std::string& where, const std::string& why);

// What the application gives. Whatever it throws is told as an error.
template <typename Credentials>
[[nodiscard]] Result<Credentials> given_by(const std::function<Credentials()>& application,
                                           const std::string& where) {
  try {
    return application();
  } catch (const std::exception& failed) {
    return no_credentials(where, failed.what());
  } catch (...) {
    return no_credentials(where, "it threw something that is no std::exception");
  }
}

}  // namespace conclave::net
