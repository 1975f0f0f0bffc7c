// Where is the leader? A client that never leads itself.
#include <cstdio>

#include <conclave/conclave.hpp>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  const auto store = conclave::open(argc > 1 ? argv[1] : "file:");
  conclave::Candidate server(store, "api", {.metadata = "10.0.0.7:8080"});
  server.start();

  conclave::Observer observer(store, "api");
  const auto leader = observer.wait_for_leader(10s);
  if (!leader) {
    std::fprintf(stderr, "nobody leads\n");
    return 1;
  }
  std::printf("the leader is at %s\n", leader->metadata.c_str());
}
