// An event-driven program: the scheduler is resumed and paused by callbacks.
#include <cstdio>
#include <latch>

#include <conclave/conclave.hpp>

int main(int argc, char** argv) {
  conclave::Candidate me(conclave::open(argc > 1 ? argv[1] : "file:"), "scheduler");
  std::latch done(1);
  conclave::Callbacks callbacks(me);
  callbacks
      .on_elected([&](const conclave::Leadership&) {
        std::printf("elected: the scheduler is resumed\n");
        me.resign();  // as it would at a deployment; callbacks may call anything
      })
      .on_stopping([](conclave::Term, conclave::LossReason reason) {
        std::printf("stopping (%s): the scheduler is paused, running jobs end\n",
                    std::string(to_string(reason)).c_str());
      })
      .on_lost([&](conclave::Term, conclave::LossReason) {
        std::printf("lost: another one leads within milliseconds\n");
        done.count_down();
      })
      .on_error([](const conclave::Error& error) {
        std::fprintf(stderr, "%s\n", error.message.c_str());
      });
  me.start();
  done.wait();
  me.stop();
}
