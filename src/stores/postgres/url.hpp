// What a person wrote to say where the server is, taken apart into libpq's options and ours.
//
// libpq parses it, but its errors repeat what it stumbles over, which may be a piece of a password.
// So everything that it would stumble over is found here before, and told without the text.
#pragma once

#include <map>
#include <string>

#include <conclave/result.hpp>

namespace conclave::postgres {

using Words = std::map<std::string, std::string, std::less<>>;

struct Given {
  Words libpq{};  // as libpq calls them
  Words ours{};   // mode, strict, create, tables, schema, lease, ...
};

[[nodiscard]] Result<Given> take_apart(const std::string& url);

}  // namespace conclave::postgres
