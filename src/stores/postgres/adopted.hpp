// A connection that the application gave.
#pragma once

#include "stores/postgres/settings.hpp"
#include "stores/postgres/url.hpp"

namespace conclave::postgres {

// Why it cannot be used as it is, or nothing. Asks nobody: libpq knows.
[[nodiscard]] std::optional<Error> unsuitable(PGconn* connection);

// Where it leads, in libpq's words.
[[nodiscard]] Words words_of(PGconn* connection);

// There is no other, so a silent one is given up late: what was asked is answered long before.
[[nodiscard]] Duration patience_with_adopted(const Settings& settings);

// What is said when it has come to its end.
[[nodiscard]] Error for_good(Error why);

}  // namespace conclave::postgres
