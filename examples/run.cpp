// A scheduled job: runs while this process leads, stops when it should.
#include <condition_variable>
#include <cstdio>
#include <mutex>

#include <conclave/conclave.hpp>

using namespace std::chrono_literals;

namespace {

// Waits for the next time to run, or until the term is about to end.
bool wait_for_next_run(const std::stop_token& stopping, conclave::Duration interval) {
  std::mutex mutex;
  std::condition_variable_any condition;
  std::unique_lock lock(mutex);
  condition.wait_for(lock, stopping, interval, [] { return false; });
  return !stopping.stop_requested();
}

}  // namespace

int main(int argc, char** argv) {
  conclave::Candidate me(conclave::open(argc > 1 ? argv[1] : "file:"), "scheduler");
  std::stop_source enough;
  int runs = 0;
  conclave::run(me, enough.get_token(), [&](const conclave::Leadership& term) {
    while (wait_for_next_run(term.stopping(), 10ms)) {
      // An action that takes a second is begun only if that much validity is left.
      if (!term.covers(100ms)) continue;
      std::printf("run %d\n", ++runs);
      if (runs < 3) continue;
      enough.request_stop();
      return;
    }
  });
  std::printf("released, ended\n");
}
