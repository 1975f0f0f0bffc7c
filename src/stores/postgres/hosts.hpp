// The servers that libpq shall try, one address each.
//
// libpq would look names up itself, and block the loop for as long as the DNS lets it. So each name
// is looked up before, and libpq gets its addresses beside it, as hostaddr: the name still counts
// for TLS and for the passfile.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <conclave/result.hpp>
#include <conclave/time.hpp>

#include "net/asio_loop.hpp"

namespace conclave::postgres {

struct Target {
  std::string host{};
  std::string hostaddr{};
  std::string port{};

  friend bool operator==(const Target&, const Target&) = default;
};

// Of libpq's lists host, hostaddr and port; at least one.
[[nodiscard]] std::vector<Target> targets_in(
    const std::map<std::string, std::string, std::less<>>& words);

// A path, or a name in the abstract space.
[[nodiscard]] bool is_socket(const std::string& host);

// On the loop's thread; `done` may come within the call. A name that is not known, or of which
// nothing is heard for a moment, is left out, if there are others.
void resolve(net::AsioLoop& loop, const std::vector<Target>& targets, Duration moment,
             std::function<void(Result<std::vector<Target>>)> done);

}  // namespace conclave::postgres
