// How open() finds a store: each store offers one Opener for each of its schemes.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include <conclave/open.hpp>
#include <conclave/store.hpp>

#include "net/url.hpp"

namespace conclave::net {

struct Opener {
  std::string_view scheme;
  // Of the URL's query, besides `lease`. Others are refused before open() is called.
  std::span<const std::string_view> options;
  // Checks everything that can be checked without connecting.
  Result<std::shared_ptr<Store>> (*open)(Url& url, const StoreOptions& options);
  // Instead of it, where somebody else's library says what the text means.
  Result<std::shared_ptr<Store>> (*open_text)(std::string_view text,
                                              const StoreOptions& options) = nullptr;
  // What an administrator has to execute before candidates come that must not.
  Result<std::string> (*schema)(std::string_view text) = nullptr;
};

}  // namespace conclave::net
