// Opens a store by its URL.
//
//   auto store = conclave::open("file:");                     // needs no server
//   auto store = conclave::open("file:/var/lib/reports?lease=5s");
//   auto store = conclave::open("redis://user:password@host:6379?lease=5s");
//   auto store = conclave::open("postgres://user@host/database?mode=lease");
//   auto store = conclave::open("memory:");                   // within this process, for tests
//
// Options stand in the URL's query or in StoreOptions; StoreOptions win. Nothing is connected yet,
// and no candidate stands. The store has a thread of its own, and lives as long as somebody points
// to it: every candidate and observer does.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <conclave/export.hpp>
#include <conclave/result.hpp>
#include <conclave/store.hpp>

namespace conclave {

struct StoreOptions {
  // How long a silent leader is waited for; of all elections of this store object. Default: the
  // store's own, 3 s for most.
  std::optional<Duration> lease{};
};

// Throws std::invalid_argument, with one sentence that names the part that is wrong and the fix.
[[nodiscard]] CONCLAVE_API std::shared_ptr<Store> open(std::string_view url,
                                                       const StoreOptions& options = {});

// The same without exceptions.
[[nodiscard]] CONCLAVE_API Result<std::shared_ptr<Store>> try_open(
    std::string_view url, const StoreOptions& options = {});

// What an administrator of the server executes, where candidates have no right to do it themselves:
// the statements that make the tables. An error where a store has none.
[[nodiscard]] CONCLAVE_API Result<std::string> schema_of(std::string_view url);

// The URL without its password: for logs, messages and figures.
[[nodiscard]] CONCLAVE_API std::string public_url(std::string_view url);

// The schemes that this build of the library knows.
[[nodiscard]] CONCLAVE_API std::vector<std::string> schemes();

}  // namespace conclave
