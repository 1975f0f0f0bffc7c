// Which names a store has to cope with.
//
// Election names, candidate ids and metadata are UTF-8 text. Spaces, slashes and any script are
// welcome: every store escapes them, so that two different names never meet in one place. Control
// characters are refused in names and ids, which stand in logs; metadata may have them, except NUL.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <conclave/error.hpp>
#include <conclave/export.hpp>

namespace conclave {

inline constexpr std::size_t max_election_name = 255;  // bytes
inline constexpr std::size_t max_candidate_id = 255;   // bytes
inline constexpr std::size_t max_metadata = 4096;      // bytes; may be empty

// Each gives the one sentence that says what is wrong and how to mend it, or nothing.
[[nodiscard]] CONCLAVE_API std::optional<Error> check_election_name(std::string_view name);
[[nodiscard]] CONCLAVE_API std::optional<Error> check_candidate_id(std::string_view id);
[[nodiscard]] CONCLAVE_API std::optional<Error> check_metadata(std::string_view metadata);

}  // namespace conclave
