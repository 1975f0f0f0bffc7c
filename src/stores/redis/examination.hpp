// What a check has asked, for those who judge the answers.
#pragma once

#include "stores/redis/doctor.hpp"
#include "stores/redis/keys.hpp"

namespace conclave::redis {

struct Examination {
  // What is asked, in this order; the questions after it measure the round trip.
  enum Question : std::size_t {
    memory,
    persistence,
    replication,
    server,
    saving,
    users,
    rights,
    digests,
    channels,
    messages,
    asked
  };

  Commands& commands;
  Patient patient;
  std::function<void(Result<std::vector<Finding>>)> done;
  std::vector<RedisReply> replies{};
  std::vector<Duration> trips{};
};

// The question `rights`.
[[nodiscard]] Command ask_for_rights(const std::string& probe, bool knows_flags);

void judge_rights(const Examination& e, std::vector<Finding>& findings);

}  // namespace conclave::redis
