// Which file an election lives in.
//
// Letters, digits, _ and - stand for themselves, every other byte is %XX: dots and slashes too, so
// that no name leaves the directory. What is too long for a file name is cut into folders, whose
// names end as no file's do. Nothing is hashed: two names never share a file.
#pragma once

#include <string>
#include <string_view>

namespace conclave::file {

// Relative to the directory of the store: "reports.election".
[[nodiscard]] std::string relative_path(std::string_view election);

}  // namespace conclave::file
