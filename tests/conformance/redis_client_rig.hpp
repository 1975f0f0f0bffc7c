// The application's own client of Redis, for the store that runs over one: it waits for each reply,
// and connects anew after a failure.
#pragma once

#include <optional>

#include <conclave/redis.hpp>

#include "servers/redis_server.hpp"

namespace conclave::conformance {

inline RedisReply reply_of(const servers::Reply& reply) {
  using Kind = servers::Reply::Kind;
  switch (reply.kind) {
    case Kind::nothing: return {};
    case Kind::status:
    case Kind::text: return {reply.text};
    case Kind::error: return {RedisError{reply.text}};
    case Kind::number: return {static_cast<std::int64_t>(reply.number)};
    case Kind::list: break;
  }
  RedisReply::Elements elements;
  for (const auto& each : reply.elements) elements.push_back(reply_of(each));
  return {std::move(elements)};
}

inline RedisExecute client_of(const servers::RedisServer& server) {
  const auto client = std::make_shared<std::optional<servers::RedisClient>>();
  return [client, port = server.port()](const std::vector<std::string>& command) {
    try {
      if (!*client) client->emplace(servers::RedisClient::at_port(port));
      return reply_of((*client)->ask(command));
    } catch (...) {
      client->reset();
      throw;
    }
  };
}

}  // namespace conclave::conformance
