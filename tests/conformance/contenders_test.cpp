// Many candidates under random faults; what they say of themselves is checked at the end.
#include "conformance/conformance.hpp"

namespace conclave::conformance {
namespace {

// A small generator, so that a seed means the same on every machine.
std::uint64_t scramble(std::uint64_t& seed) {
  seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
  return seed >> 33U;
}

TEST_P(Disturbed, R13_AtMostOneLeaderUnderRandomFaults) {
  const int seeds = fixture().rounds(60);
  for (int number = 1; number <= seeds; ++number) {
    std::uint64_t seed = static_cast<std::uint64_t>(number);
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::vector<Member> members;
    const auto add = [&](std::size_t i) {
      Member member = make("member " + std::to_string(i));
      member.faults->randomly(scramble(seed), {.lose_request = 0.05,
                                               .lose_reply = 0.05,
                                               .delay_request = 0.1,
                                               .delay_reply = 0.1,
                                               .duplicate = 0.1,
                                               .unknown = 0.05,
                                               .drop_observation = 0.2,
                                               .longest_delay = 2 * lease()});
      member->start();
      return member;
    };
    const std::size_t count = 2 + scramble(seed) % 4;
    for (std::size_t i = 0; i < count; ++i) members.push_back(add(i));
    for (int round = 0; round < 40; ++round) {
      run_for(lease() * static_cast<int>(scramble(seed) % 100) / 100);
      const std::size_t whom = scramble(seed) % count;
      Member& member = members[whom];
      switch (scramble(seed) % 8) {
        case 0: member.faults->partition(); break;
        case 1: member.faults->freeze(); break;
        case 2: member.faults->heal(); break;
        case 3: member->stall(); break;
        case 4: member->go_on(); break;
        case 5: member->resign(); break;
        case 6: member = add(whom); break;
        default: break;
      }
    }
    for (Member& member : members) {
      member->go_on();
      member.faults->heal();
      member.faults->randomly(0, {});
    }
    EXPECT_TRUE(run_until([&] {
      return std::any_of(members.begin(), members.end(),
                         [](const Member& m) { return m->leads(); });
    }));
    for (Member& member : members) member->stop();
    for (Member& member : members) EXPECT_TRUE(until_stopped(member));
  }
}

}  // namespace
}  // namespace conclave::conformance
