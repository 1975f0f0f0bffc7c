// How open() makes a PostgreSQL store: the text is libpq's own, in which options of ours are mixed.
//
//   postgres://[user[:password]@]host[:port][,host2...][/database][?mode=lease&sslmode=...]
//
// Ours: mode, strict, create, tables, schema, lease, request_timeout, password_file.
#pragma once

#include "net/opener.hpp"

#include <conclave/export.hpp>

namespace conclave::stores {

extern CONCLAVE_API const net::Opener postgres_opener;
extern CONCLAVE_API const net::Opener postgresql_opener;

}  // namespace conclave::stores
