// How open() makes a Redis store.
//
//   redis://[[user][:password]@]host[:port][/database]     rediss:// the same with TLS
//   redis+unix:///path/to/socket                            user, password, database as options
//
// Options: prefix, request_timeout, user, password, password_file, database; with TLS: ca_file,
// certificate_file, key_file, server_name, skip_verify=true.
#pragma once

#include "net/opener.hpp"

#include <conclave/export.hpp>

namespace conclave::stores {

extern CONCLAVE_API const net::Opener redis_opener;
extern CONCLAVE_API const net::Opener rediss_opener;
extern CONCLAVE_API const net::Opener redis_unix_opener;

}  // namespace conclave::stores
