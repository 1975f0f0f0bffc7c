// Stands as a candidate and prints what happens.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>

#include "apps/conclave/event_lines.hpp"
#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/signals.hpp"
#include "apps/conclave/verbs.hpp"

namespace conclave::app {
namespace {

// Prints all events that are there. True when the last one was among them.
bool print_events(const Candidate& candidate, EventQueue& events, bool json, bool& read) {
  bool stopped = false;
  while (const auto event = events.try_pop()) {
    read = read && say(json ? json_line(*event, candidate.election(), candidate.id())
                            : readable_line(*event));
    stopped = stopped || event->kind == EventKind::stopped;
  }
  return stopped;
}

}  // namespace

int join(const JoinArguments& arguments) {
  const Signals signals{SIGTERM, SIGINT, SIGHUP, SIGUSR1};
  Candidate candidate(open(arguments.candidate.store.url, arguments.candidate.store.options),
                      arguments.candidate.election, arguments.candidate.options);
  const auto events = candidate.subscribe(4096);
  candidate.start();
  std::array<pollfd, 3> wanted{
      {{signals.fd(), POLLIN, 0}, {events->fd(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}}};
  bool read = true;
  while (!print_events(candidate, *events, arguments.json, read)) {
    if (!read) candidate.request_stop();
    if (!read) wanted[2].fd = -1;
    ::poll(wanted.data(), wanted.size(), -1);
    read = read && wanted[2].revents == 0;  // a reader that has gone is told without a word, too
    while (const auto signal = signals.take()) {
      *signal == SIGUSR1 ? candidate.resign() : candidate.request_stop();
    }
  }
  candidate.stop();
  if (read) return ok;
  complain("the output was closed by its reader: left the election");
  return failed;
}

}  // namespace conclave::app
