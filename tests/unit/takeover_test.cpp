#include "core/takeover.hpp"

#include <gtest/gtest.h>

#include "scenario/rig.hpp"

namespace conclave::core {
namespace {

using namespace std::chrono_literals;
using test::at;

// Granted at 10 s with a lease of 3 s: the wait until the grant is valid.
Duration wait(Vacancy vacancy, std::optional<Duration> server_age, bool seen,
              Duration previous_lease = {}, Duration longest_lease = {}) {
  Granted granted = test::granted(9, at(9s), vacancy);
  granted.server_age = server_age;
  granted.previous_lease = previous_lease;
  return valid_from(granted, {at(10s), Term{seen ? 8U : 0U}, longest_lease}) - at(10s);
}

struct Case {
  Vacancy vacancy;
  bool seen;
  std::optional<Duration> server_age;
  Duration wait;
};

TEST(Takeover, EveryVacancySeenOrUnseenAtEveryAgeOfTheServer) {
  const auto none = std::nullopt;
  const Case cases[] = {
      // vacancy, seen, age of the server, wait
      {Vacancy::released, false, none, 0s},  {Vacancy::released, true, none, 0s},
      {Vacancy::released, false, 0s, 3s},    {Vacancy::released, true, 0s, 3s},
      {Vacancy::released, true, 1s, 2s},     {Vacancy::released, true, 3s, 0s},
      {Vacancy::ended, false, none, 0s},     {Vacancy::ended, true, none, 0s},
      {Vacancy::ended, false, 0s, 3s},       {Vacancy::ended, true, 1s, 2s},
      {Vacancy::ended, true, 3s, 0s},        {Vacancy::expired, false, none, 0s},
      {Vacancy::expired, true, none, 0s},    {Vacancy::expired, true, 0s, 3s},
      {Vacancy::expired, false, 1s, 2s},     {Vacancy::expired, true, 3s, 0s},
      {Vacancy::absent, false, none, 0s},    {Vacancy::absent, true, none, 3s},
      {Vacancy::absent, false, 0s, 3s},      {Vacancy::absent, true, 0s, 3s},
      {Vacancy::absent, false, 1s, 2s},      {Vacancy::absent, true, 1s, 3s},
      {Vacancy::absent, false, 3s, 0s},      {Vacancy::absent, true, 3s, 3s},
      {Vacancy::abandoned, false, none, 3s}, {Vacancy::abandoned, true, none, 3s},
      {Vacancy::abandoned, false, 0s, 3s},   {Vacancy::abandoned, true, 1s, 3s},
      {Vacancy::abandoned, false, 1h, 3s},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(wait(each.vacancy, each.server_age, each.seen), each.wait)
        << to_string(each.vacancy) << (each.seen ? ", seen" : ", unseen") << ", age "
        << (each.server_age ? test::text(*each.server_age) : "none");
  }
}

TEST(Takeover, TheLongestLeaseThatAHolderMayCountOnIsWaitedFor) {
  EXPECT_EQ(wait(Vacancy::abandoned, {}, true, 5s), 5s);
  EXPECT_EQ(wait(Vacancy::abandoned, {}, true, 1s), 3s);
  EXPECT_EQ(wait(Vacancy::absent, {}, true, {}, 8s), 8s);
  EXPECT_EQ(wait(Vacancy::absent, {}, true, 5s, 8s), 8s);
  EXPECT_EQ(wait(Vacancy::released, 4s, true, 5s), 1s);
  EXPECT_EQ(wait(Vacancy::released, 4s, true, {}, 8s), 4s);
}

TEST(Takeover, ALeaseThatNobodyHoldsAnyMoreIsNotWaitedFor) {
  EXPECT_EQ(wait(Vacancy::released, {}, true, 5s, 8s), 0s);
  EXPECT_EQ(wait(Vacancy::expired, {}, true, 5s, 8s), 0s);
  EXPECT_EQ(wait(Vacancy::ended, 1h, true, 5s, 8s), 0s);
}

TEST(Takeover, CountsFromTheReplyNotFromTheRequest) {
  Granted granted = test::granted(9, at(2s), Vacancy::abandoned);
  EXPECT_EQ(valid_from(granted, {at(10s), Term{}, {}}), at(13s));
}

}  // namespace
}  // namespace conclave::core
