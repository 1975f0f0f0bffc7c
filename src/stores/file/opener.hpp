// How open() makes a file store.
//
//   file:                     the user's own directory, see default_file_directory()
//   file:/path  file:///path  an absolute one
//   file:path                 a relative one
//
// Options: force=true.
#pragma once

#include "net/opener.hpp"

#include <conclave/export.hpp>

namespace conclave::stores {

extern CONCLAVE_API const net::Opener file_opener;

}  // namespace conclave::stores
