// How open() finds a store: each store offers one Opener for each of its schemes.
#pragma once

#include <memory>
#include <string_view>

#include <conclave/open.hpp>
#include <conclave/store.hpp>

#include "net/url.hpp"

namespace conclave::net {

struct Opener {
  std::string_view scheme;
  // Checks everything that can be checked without connecting. Takes the options that it knows out
  // of the URL's query; what is left over is refused by open().
  Result<std::shared_ptr<Store>> (*open)(Url& url, const StoreOptions& options);
};

}  // namespace conclave::net
