// The store `redis:`: elections on a Redis server, version 6 or later.
//
//   auto store = make_redis_store({.host = "redis.internal", .password = secret});
//   auto store =
//   conclave::open("rediss://scheduler:secret@redis.internal:6380/2?ca_file=/etc/ssl/redis.pem");
//
// One hash per election and no keys that expire: a server-side script decides each step, so nobody
// comes between reading a record and writing it. Followers stand in a queue and are woken by a
// message; a crashed leader is replaced the moment its lease is over. One object has two
// connections, for any number of elections.
//
// What to know about it (docs/stores/redis.md says more)
//  - One server, not replicated: a replica that is promoted may not have heard of the last grant.
//    Whoever needs that has to wait for the support of Sentinel; doctor warns of replicas.
//  - A leader survives a restart of the server within its lease, also without data: it writes its
//    record anew. New grants wait until the restarted server has decided for a whole lease.
//  - Terms are at least the server's clock in microseconds: they grow even when its data are lost.
//  - Passwords and certificates are read anew for every connection, where they come from files or
//    from a function.
//  - Nothing is connected before the first call, and a candidate that cannot reach the server, or
//    whose password is wrong, goes on trying: without a log, lead() and run() just wait. Set one:
//
//   Options options;
//   options.log = [](const LogRecord& record) { std::clog << record.message << '\n'; };
//   Candidate me(store, "reports", options);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <conclave/export.hpp>
#include <conclave/loop.hpp>
#include <conclave/store.hpp>

namespace conclave {

// How the server is told who we are.
struct RedisCredentials {
  std::string user{};  // empty: the default user
  std::string password{};
};

struct RedisTls {
  std::string ca_file{};  // who signs the server's certificate; empty: those the system trusts
  std::string certificate_file{};  // our own, where the server asks for one, with its key
  std::string key_file{};
  std::string server_name{};  // in the server's certificate; empty: the host
  bool skip_verify = false;   // accept every certificate: whoever is in between can read and write
};

struct RedisOptions {
  std::string host{"127.0.0.1"};
  std::uint16_t port = 6379;
  std::string unix_socket{};  // a path; instead of host and port
  std::uint32_t database = 0;
  std::string user{};
  std::string password{};
  std::string password_file{};  // read for every connection; a line end at its end does not count
  std::function<RedisCredentials()> credentials{};  // asked for every connection, on the loop
  std::optional<RedisTls> tls{};
  std::string prefix{"conclave:"};  // of all keys and channels; without braces

  Duration lease{std::chrono::seconds{3}};
  // When an unanswered request is given up, and its connection with it. Zero: an eighth of the
  // lease.
  Duration request_timeout{};
  std::shared_ptr<Loop> loop{};  // of make_loop(), where several stores shall share one
};

// Checks its options; connects with the first call. Throws std::invalid_argument with a sentence
// that names the option and the fix.
[[nodiscard]] CONCLAVE_API std::shared_ptr<Store> make_redis_store(RedisOptions options = {});

// ---------------------------------------------------------------- on a client of your own

struct RedisError {
  std::string message;  // as the server sends it, such as "NOAUTH Authentication required."
};

// What the server answered.
struct RedisReply {
  using Elements = std::vector<RedisReply>;
  std::variant<std::monostate, std::int64_t, std::string, RedisError, Elements> value{};
};

// Executes one command, and waits for its reply. A reply that did not come is an exception: whether
// the command was executed is then not known.
using RedisExecute = std::function<RedisReply(const std::vector<std::string>& command)>;

struct RedisClientOptions {
  std::string prefix{"conclave:"};
  Duration lease{std::chrono::seconds{3}};
  std::shared_ptr<Loop> loop{};
};

// A store on a client that the application already has. `execute` is called on a thread of the
// store's own, one command at a time; that it uses one server, and gives up in time, is its own
// affair. Nobody is woken here: candidates look, the first in line four times a lease. Its user
// needs INFO. Since nobody listens here either, a candidate without a past cannot know of a leader
// whose record was wiped.
[[nodiscard]] CONCLAVE_API std::shared_ptr<Store> make_redis_store(RedisExecute execute,
                                                                   RedisClientOptions options = {});

}  // namespace conclave
