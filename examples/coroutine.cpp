// co_await the next term.
#include <coroutine>
#include <cstdio>
#include <exception>
#include <latch>

#include <conclave/conclave.hpp>

namespace {

// The smallest coroutine there is; yours comes from the library that you use.
struct Detached {
  struct promise_type {  // NOLINT: the language asks for this name
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() { std::terminate(); }
  };
};

Detached write_reports(conclave::Candidate& me, std::stop_source stop, std::latch& done) {
  int reports = 0;
  while (auto term = co_await conclave::next_term(me, stop.get_token())) {
    std::printf("report %d\n", ++reports);
    if (reports == 2) stop.request_stop();
  }
  std::printf("stopped\n");
  done.count_down();
}

}  // namespace

int main(int argc, char** argv) {
  conclave::Candidate me(conclave::open(argc > 1 ? argv[1] : "file:?lease=1s"), "reports");
  std::latch done(1);
  write_reports(me, std::stop_source{}, done);
  done.wait();
}
