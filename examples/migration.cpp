// A migration at start-up: whoever leads migrates, the others wait until it is done. Asking
// is_leader() at once would be a race: right after the start nobody knows yet.
#include <cstdio>

#include <conclave/conclave.hpp>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  conclave::Candidate me(conclave::open(argc > 1 ? argv[1] : "file:"), "migration");
  me.start();
  const auto role = conclave::wait_until_role_known(me, 10s);
  if (!role) {
    std::fprintf(stderr, "the store does not answer\n");
    return 1;
  }
  if (conclave::wait_until_leader(me, 10s)) {
    // Work that a hand-over has to wait for is done under a Leadership.
    if (const auto work = me.leadership()) {
      std::printf("migrating the schema, once\n");
    }
  }
  me.stop();
  std::printf("serving\n");
}
