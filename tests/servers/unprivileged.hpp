// PostgreSQL and PgBouncer refuse to run as root. Where the tests do, another user runs them.
#pragma once

#include <string>
#include <vector>

namespace conclave::servers {

// The command line that runs this one as an unprivileged user: as oneself, unless that is root.
// However the user changes, the program dies with who started it.
std::vector<std::string> unprivileged(const std::vector<std::string>& arguments);

// Gives a file or a folder to that user, alone or with all that is in it.
void give_to_unprivileged(const std::string& path);
void give_all_to_unprivileged(const std::string& folder);

}  // namespace conclave::servers
