// All events of a candidate, read from an event loop.
#include <poll.h>

#include <cstdio>
#include <string>

#include <conclave/conclave.hpp>

int main(int argc, char** argv) {
  conclave::Candidate me(conclave::open(argc > 1 ? argv[1] : "file:"), "events");
  conclave::EventQueue& events = me.events();
  me.start();
  pollfd readable{events.fd(), POLLIN, 0};
  while (poll(&readable, 1, 10'000) > 0) {
    while (const auto event = events.try_pop()) {
      std::printf("%s\n", std::string(to_string(event->kind)).c_str());
      if (event->kind == conclave::EventKind::elected) me.request_stop();
      if (event->kind == conclave::EventKind::stopped) return 0;
    }
  }
  std::fprintf(stderr, "nothing happened for ten seconds\n");
  return 1;
}
