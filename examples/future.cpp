// A batch job: start, prepare while the election goes on, and go on once elected.
#include <cstdio>
#include <future>

#include <conclave/conclave.hpp>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
  conclave::Candidate me(conclave::open(argc > 1 ? argv[1] : "file:"), "batch");
  std::future<conclave::Term> elected = conclave::future_term(me);
  me.start();
  std::printf("reading the input, leader or not\n");
  if (elected.wait_for(10s) != std::future_status::ready) {
    std::printf("another one does it\n");
    return 0;
  }
  try {
    const conclave::Term term = elected.get();
    // The term may be over by now: work under the present one, which a hand-over waits for.
    const auto work = me.leadership();
    if (work && work->term() == term) std::printf("writing the output\n");
  } catch (const std::future_error&) {
    std::printf("stopped before it was elected\n");
  }
}
