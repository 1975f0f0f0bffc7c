// Stands as a candidate and prints what happens.
#include <poll.h>
#include <signal.h>

#include <array>

#include "apps/conclave/event_lines.hpp"
#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/outbox.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/signals.hpp"
#include "apps/conclave/verbs.hpp"

namespace conclave::app {
namespace {

constexpr int last_words_ms = 2000;

class Join {
 public:
  explicit Join(const JoinArguments& arguments)
      : json_(arguments.json),
        store_(open(arguments.candidate.store.url, arguments.candidate.store.options)),
        candidate_(store_, arguments.candidate.election, arguments.candidate.options),
        events_(candidate_.subscribe(1024)) {}

  int stand() {
    candidate_.start();
    while (!stopped_) {
      take_events();
      if (out_.closed()) candidate_.request_stop();
      if (!stopped_) wait();
    }
    candidate_.stop();
    out_.finish(last_words_ms);
    if (out_.closed()) {
      complain("the output was closed by its reader, or not read: left the election");
    } else if (!stops_) {
      complain("the election \"" + candidate_.election() + "\" was ended: remove it to begin anew");
    } else {
      return ok;
    }
    return failed;
  }

 private:
  // What a slow reader has no room for waits in the queue, which drops what is old news.
  void take_events() {
    while (!out_.full()) {
      const auto event = events_->try_pop();
      if (!event) break;
      tell_missed(event->at);
      tell(*event);
      stopped_ = stopped_ || event->kind == EventKind::stopped;
    }
  }

  void tell(const Event& event) {
    const auto repeats = restraint_.take(event);
    if (!repeats) return;
    out_.add(json_ ? json_line(event, candidate_.election(), candidate_.id(), *repeats)
                   : readable_line(event, *repeats));
  }

  // A history with a gap must not look whole.
  void tell_missed(Instant at) {
    const std::uint64_t missed = events_->missed();
    if (missed == missed_) return;
    Event event;
    event.kind = EventKind::error;
    event.at = at;
    event.error = Error{ErrorCode::unavailable,
                        std::to_string(missed - missed_) +
                            " events were dropped: whoever reads these lines is too slow",
                        true, false};
    missed_ = missed;
    tell(event);
  }

  void wait() {
    std::array<pollfd, 3> wanted{{{signals_.fd(), POLLIN, 0},
                                  {out_.full() ? -1 : events_->fd(), POLLIN, 0},
                                  {out_.fd(), out_.events(), 0}}};
    ::poll(wanted.data(), wanted.size(), stops_ ? last_words_ms : -1);
    out_.write(wanted[2].revents);
    while (const auto signal = signals_.take()) {
      if (*signal == SIGUSR1) {
        candidate_.resign();
      } else {
        stops_ = true;
        candidate_.request_stop();
      }
    }
    // Nobody reads, and nobody shall wait for that.
    if (stops_ && out_.full() && wanted[2].revents == 0) stopped_ = true;
  }

  const Signals signals_{SIGTERM, SIGINT, SIGHUP, SIGUSR1};
  const bool json_;
  const std::shared_ptr<Store> store_;
  Candidate candidate_;
  const std::shared_ptr<EventQueue> events_;
  Restraint restraint_{json_ ? store_->lease() : calm_pace};
  Outbox out_;
  std::uint64_t missed_ = 0;
  bool stops_ = false;
  bool stopped_ = false;
};

}  // namespace

int join(const JoinArguments& arguments) { return Join(arguments).stand(); }

}  // namespace conclave::app
