// Shows who leads, as it changes: a live view on a terminal, lines otherwise.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <deque>

#include <conclave/observer.hpp>

#include "apps/conclave/event_lines.hpp"
#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/outbox.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/signals.hpp"
#include "apps/conclave/verbs.hpp"

namespace conclave::app {
namespace {

constexpr int refresh_ms = 250;
constexpr int last_words_ms = 2000;
constexpr std::size_t history_lines = 8;

// Redraws itself in place. What is wider than the terminal is cut there, so that it stays as many
// lines; each drawing leaves the terminal as it was.
class View {
 public:
  explicit View(std::string election) : election_(std::move(election)) {}

  void note(const Event& event, const Repeats& repeats) {
    history_.push_back("  " + readable_line(event, repeats));
    if (history_.size() > history_lines) history_.pop_front();
  }

  [[nodiscard]] std::string drawn(const Observer& observer) {
    std::string text;
    if (lines_ > 0) text += "\x1b[" + std::to_string(lines_) + "F";
    text += "\x1b[J\x1b[?7l" + printable(election_) + "\n" + state(observer) + "\n";
    for (const std::string& line : history_) text += line + "\n";
    lines_ = 2 + history_.size();
    text.pop_back();  // whoever prints it ends the line
    return text + "\x1b[?7h";
  }

 private:
  static std::string state(const Observer& observer) {
    if (!observer.is_known()) return "  asking the store";
    const auto leader = observer.leader();
    if (!leader) return "  nobody leads";
    const double age = std::chrono::duration<double>(leader->age).count();
    std::string text = "  " + printable(leader->id) + " leads, term " +
                       std::to_string(leader->term.value) + ", seen " + human(age) + " ago";
    if (!leader->metadata.empty()) text += ", " + printable(leader->metadata);
    return text;
  }

  const std::string election_;
  std::deque<std::string> history_;
  std::size_t lines_ = 0;
};

}  // namespace

int watch(const WatchArguments& arguments) {
  const Signals signals{SIGTERM, SIGINT, SIGHUP};
  const auto store = open(arguments.store.url, arguments.store.options);
  Observer observer(store, arguments.election);
  EventQueue& events = observer.events();
  const bool live = is_terminal(STDOUT_FILENO) && !arguments.json;
  View view(arguments.election);
  Restraint restraint(arguments.json ? store->lease() : calm_pace);
  std::array<pollfd, 3> wanted{
      {{signals.fd(), POLLIN, 0}, {events.fd(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}}};
  Outbox out;
  bool ended = false;
  bool is_old = true;  // what the live view shows
  while (!out.closed() && !ended) {
    while (!out.full()) {
      const auto event = events.try_pop();
      if (!event) break;
      ended = ended || event->kind == EventKind::stopped;
      const auto repeats = restraint.take(*event);
      if (!repeats) continue;
      view.note(*event, *repeats);
      is_old = true;
      if (live) continue;
      out.add(arguments.json ? json_line(*event, arguments.election, "", *repeats)
                             : readable_line(*event, *repeats));
    }
    if (live && is_old && out.empty()) {
      out.add(view.drawn(observer));
      is_old = false;
    }
    if (ended) break;
    wanted[1].fd = out.full() ? -1 : events.fd();
    wanted[2] = {out.fd(), out.events(), 0};
    if (::poll(wanted.data(), wanted.size(), live ? refresh_ms : -1) == 0) is_old = true;
    out.write(wanted[2].revents);
    if (signals.take()) break;
  }
  out.finish(last_words_ms);
  if (!out.closed()) return ok;
  complain("the output was closed by its reader, or not read: ended");
  return failed;
}

}  // namespace conclave::app
