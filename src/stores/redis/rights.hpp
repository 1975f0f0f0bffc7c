// What a user of the server has to be allowed, as the server's ACL writes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stores/redis/settings.hpp"

namespace conclave::redis {

// Who logs in, for the line that grants something.
[[nodiscard]] std::string user_of(const Settings& settings);

// The line that grants it: "ACL SETUSER anna +subscribe". For people, and for redis-cli.
[[nodiscard]] std::string grant(const std::string& user, const std::string& rights);

// "conclave:*", whatever signs the prefix has.
[[nodiscard]] std::string pattern_of(std::string_view prefix);

// All that elections need, and nothing else. SELECT is only for another database than 0.
[[nodiscard]] std::string all_rights(std::string_view prefix, bool selects);

// What a connection that listens needs.
[[nodiscard]] std::string rights_to_listen(std::string_view prefix);

// The right that the server's refusal names: a command, or the pattern that is missing. Nothing
// when it was refused for another reason.
[[nodiscard]] std::optional<std::string> missing_in(std::string_view refusal,
                                                    std::string_view prefix);

}  // namespace conclave::redis
