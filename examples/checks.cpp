// Clean-up at every check, by the leader alone.
#include <cstdio>

#include <conclave/conclave.hpp>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  conclave::Candidate me(conclave::open(argc > 1 ? argv[1] : "file:"), "clean-up");
  std::stop_source enough;
  int checks = 0;
  const conclave::Checks on_checks{.leader_interval = 10ms,
                                   .follower_interval = 1s,
                                   .on_leader_check = [&]() -> std::optional<conclave::Error> {
                                     std::printf("clean-up %d\n", ++checks);
                                     if (checks == 3) enough.request_stop();
                                     return std::nullopt;
                                   },
                                   .on_follower_check = []() -> std::optional<conclave::Error> {
                                     std::printf("not leading: others clean up\n");
                                     return std::nullopt;
                                   }};
  if (const auto error = conclave::run_checks(me, enough.get_token(), on_checks)) {
    std::fprintf(stderr, "%s\n", error->message.c_str());
    return 1;
  }
}
