#include "apps/conclave/keeper.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "apps/conclave/clock.hpp"
#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/restraint.hpp"

namespace conclave::app {
namespace {

using namespace std::chrono_literals;

// A command that fails at once is not tried again at once.
constexpr Duration restart_pause = 1s;

class Keeper {
 public:
  Keeper(const RunArguments& arguments, const ChildSpec& command, const Companions& companions,
         SharedPage& page)
      : arguments_(arguments),
        command_(command),
        companions_(companions),
        page_(page),
        store_(open(arguments.candidate.store.url, arguments.candidate.store.options)),
        candidate_(store_, arguments.candidate.election, arguments.candidate.options),
        events_(candidate_.subscribe(1024)),
        begun_(boot_now()) {
    page_.lease = store_->lease().count();
  }

  int keep() {
    candidate_.start();
    while (!result_) {
      take_events();
      take_control();
      if (child_ && child_->ended()) command_ended(*child_->ended());
      watch_times();
      if (!result_) wait();
    }
    end_family();
    page_.keeper_beat = 0;
    leadership_.reset();
    candidate_.stop();
    return *result_;
  }

 private:
  // ---- what happens

  void take_events() {
    while (const auto event = events_->try_pop()) {
      const auto repeats = restraint_.take(*event);
      switch (event->kind) {
        case EventKind::elected:
          valid_until_ = event->valid_until;
          elected(event->term);
          break;
        case EventKind::extended: valid_until_ = event->valid_until; break;
        case EventKind::stopping: term_ends(*event); break;
        case EventKind::lost: lost(*event); break;
        case EventKind::error:
          if (repeats && event->error) complain(error_sentence(*event->error, *repeats));
          break;
        case EventKind::stopped: stopped(); break;
        default: break;
      }
      publish();
    }
  }

  void elected(Term term) {
    was_elected_ = true;
    term_ends_ = false;
    page_.killed = false;
    leadership_ = candidate_.leadership();
    if (leadership_ && leadership_->term() == term) {
      spawn_at_ = boot_now();
    } else {
      leadership_.reset();  // over already, or asked to end
    }
  }

  void spawn() {
    try {
      ChildSpec spec = command_;
      spec.environment.push_back("CONCLAVE_ELECTION=" + candidate_.election());
      spec.environment.push_back("CONCLAVE_CANDIDATE=" + candidate_.id());
      spec.environment.push_back("CONCLAVE_TERM=" + std::to_string(leadership_->term().value));
      // Before it exists: we may be stopped before we can tell of it.
      page_.kill_at = latest().time_since_epoch().count();
      child_.emplace(spec);
      has_run_ = true;
      ending_since_.reset();
      spawn_at_.reset();
    } catch (const std::system_error& failure) {
      complain(std::string(failure.what()) + ": the command cannot be executed");
      result_ = failure.code() == std::errc::no_such_file_or_directory ? not_found : not_executable;
    }
    publish();
  }

  void term_ends(const Event& event) {
    term_ends_ = true;
    is_over_ = is_over_ || event.reason == LossReason::election_ended;
    if (!child_) return give_up_place();
    const auto news = why_it_ends(event);
    ask_to_end(SIGTERM);
    if (news) complain(*news);  // after the command was told: whoever reads it may be slow
  }

  void lost(const Event& event) {
    is_over_ = is_over_ || event.reason == LossReason::election_ended;
    const auto news = why_it_ends(event);
    end_family();
    if (news) complain(*news);
    if (was_elected_) give_up_place();
  }

  // Nothing when the command is not ended by this, or when that is told otherwise.
  [[nodiscard]] std::optional<std::string> why_it_ends(const Event& event) const {
    if (!child_ || ending_since_ || end_is_decided() || !event.reason) return std::nullopt;
    if (event.reason == LossReason::election_ended) return std::nullopt;
    return "leadership of " + named() + " ends (" + std::string(to_string(*event.reason)) +
           "): stops the command";
  }

  [[nodiscard]] std::string named() const { return "\"" + candidate_.election() + "\""; }

  // The command has ended because the term does: the place is free at once.
  void give_up_place() {
    leadership_.reset();
    spawn_at_.reset();
    if (end_is_decided() || is_over_) return;
    if ((arguments_.once && has_run_) || arguments_.on_lost == OnLost::exit) {
      complain("leadership was lost before the command ended");
      result_ = ExitCode::lost;
    }
  }

  [[nodiscard]] bool end_is_decided() const { return result_ || asked_ || companion_is_gone_; }

  // The candidate takes part no more: asked to, or the election was ended.
  void stopped() {
    if (result_) return;
    if (asked_) {
      result_ = by_signal + *asked_;
    } else {
      if (!companion_is_gone_)
        complain("the election " + named() + " was ended: remove it to begin anew");
      result_ = cannot_supervise;
    }
  }

  void command_ended(int code) {
    end_family();  // whoever the command left behind
    term_ends_ = term_ends_ || page_.killed;
    if (!companion_is_gone_ && !asked_) {
      if (term_ends_) {
        // Killed in time, and yet renewed since: it would lead on with nothing to run.
        if (candidate_.role() == Role::leader) candidate_.resign();
        return give_up_place();
      }
      if (runs_again_after(code)) {
        spawn_at_ = boot_now() + restart_pause;
        return;
      }
    }
    result_ = companion_is_gone_ ? cannot_supervise : code;
  }

  [[nodiscard]] bool runs_again_after(int code) const {
    if (arguments_.once) return false;
    return arguments_.restart == Restart::always ||
           (arguments_.restart == Restart::on_failure && code != 0);
  }

  // Signals from the front, and its end.
  void take_control() {
    std::array<unsigned char, 64> signals{};
    const auto count = ::read(companions_.control, signals.data(), signals.size());
    if (count == 0) return companion_gone("the process that was started is gone");
    for (ssize_t i = 0; i < count; ++i) passed_on(signals[static_cast<std::size_t>(i)]);
  }

  void passed_on(int signal) {
    const bool ends = signal == SIGTERM || signal == SIGINT;
    if (!child_) {
      if (!result_ && (ends || signal == SIGHUP || signal == SIGQUIT)) result_ = by_signal + signal;
      return;
    }
    if (ends && !asked_) {  // also while the term ends, which alone would not end us
      asked_ = signal;
      candidate_.request_stop();
    }
    ends && !ending_since_ ? ask_to_end(signal) : child_->send(signal);
  }

  void companion_gone(const char* why) {
    if (std::exchange(companion_is_gone_, true)) return;
    complain(std::string(why) + ": ends the command");
    if (!child_) {
      result_ = cannot_supervise;
      return;
    }
    ask_to_end(SIGTERM);
    candidate_.request_stop();
  }

  // ---- time

  // The first of the two instants. The second is kill_at().
  void ask_to_end(int signal) {
    if (!child_ || ending_since_) return;
    ending_since_ = boot_now();
    child_->send(signal);
    child_->send(SIGCONT);  // one that is stopped would not hear it
  }

  // Some time before the deadline: the family has to be dead at it, not to be told.
  [[nodiscard]] Instant latest() const { return valid_until_ - store_->lease() / 20; }

  // A store that took long to answer leaves no time to run anything; the next renewal does.
  [[nodiscard]] bool may_spawn(Instant now) const {
    return !end_is_decided() && spawn_at_ && leadership_ && !term_ends_ && now >= *spawn_at_ &&
           now < latest();
  }

  [[nodiscard]] std::optional<Instant> kill_at() const {
    if (!child_) return std::nullopt;
    Instant at = latest();
    if (ending_since_) at = std::min(at, *ending_since_ + drain());
    return at;
  }

  [[nodiscard]] Duration drain() const {
    const Duration longest =
        arguments_.candidate.options.drain_limit.value_or(10 * store_->lease());
    // Alone it is not safe any more: the end has to come within the lease.
    return companion_is_gone_ ? std::min(longest, store_->lease() / 4) : longest;
  }

  void watch_times() {
    const Instant now = boot_now();
    page_.keeper_beat = now.time_since_epoch().count();
    if (front_silence_.look(page_.front_beat, page_.lease / 5) > page_.lease / 2) {
      companion_gone("the process that was started does not run any more");
    }
    if (const auto at = kill_at(); at && now >= *at) {
      if (!asked_) term_ends_ = true;
      command_ended(by_signal + SIGKILL);
    }
    if (may_spawn(now)) spawn();
    if (!was_elected_ && arguments_.timeout && now >= begun_ + *arguments_.timeout) {
      complain("was not elected in " + named() + " within the time-out");
      result_ = not_elected;
    }
    publish();
  }

  void wait() {
    Instant next = boot_now() + store_->lease() / 10;
    if (const auto at = kill_at()) next = std::min(next, *at);
    if (spawn_at_ && *spawn_at_ > boot_now()) next = std::min(next, *spawn_at_);
    if (!was_elected_ && arguments_.timeout) next = std::min(next, begun_ + *arguments_.timeout);
    const Duration left = std::max(next - boot_now(), Duration::zero());
    const timespec limit{std::chrono::duration_cast<std::chrono::seconds>(left).count(),
                         (left % 1s).count()};
    std::array<pollfd, 4> wanted{{{events_->fd(), POLLIN, 0},
                                  {companion_is_gone_ ? -1 : companions_.control, POLLIN, 0},
                                  {companion_is_gone_ ? -1 : companions_.guardian, POLLIN, 0},
                                  {child_ ? child_->fd() : -1, POLLIN, 0}}};
    ::ppoll(wanted.data(), wanted.size(), &limit, nullptr);
    if (wanted[2].revents != 0) companion_gone("the process that guards the command is gone");
  }

  // ---- the end of a family

  void end_family() {
    if (!child_) return;
    child_->end_family();
    child_.reset();
    publish();
  }

  void publish() {
    const auto at = kill_at();
    page_.group = child_ ? child_->group() : 0;
    page_.kill_at = at ? at->time_since_epoch().count() : 0;
  }

  const RunArguments& arguments_;
  const ChildSpec& command_;
  const Companions companions_;
  SharedPage& page_;
  const std::shared_ptr<Store> store_;
  Candidate candidate_;
  const std::shared_ptr<EventQueue> events_;
  const Instant begun_;

  std::optional<Leadership> leadership_;  // a voluntary hand-over waits for the command
  std::optional<Child> child_;
  Instant valid_until_;
  std::optional<Instant> ending_since_;  // the command was asked to end
  std::optional<Instant> spawn_at_;
  std::optional<int> asked_;  // by this signal, to end altogether
  std::optional<int> result_;
  Restraint restraint_{calm_pace};
  bool was_elected_ = false;
  bool has_run_ = false;
  bool term_ends_ = false;  // and not the command by itself
  bool is_over_ = false;    // the election, for everybody
  bool companion_is_gone_ = false;
  Silence front_silence_;
};

}  // namespace

int keep(const RunArguments& arguments, const ChildSpec& command, const Companions& companions,
         SharedPage& page) {
  return Keeper(arguments, command, companions, page).keep();
}

}  // namespace conclave::app
