#include "apps/conclave/table.hpp"

#include <algorithm>
#include <cassert>

namespace conclave::app {
namespace {

constexpr OptionSpec all_options[] = {
    {"store", "URL", "file:",
     "The store that keeps the election, such as redis://host or postgres://host/database."},
    {"election", "NAME", "", "The election to take part in, or to ask for."},
    {"lease", "TIME", "the store's own", "How long a silent leader is waited for."},
    {"id", "NAME", "host name and a random suffix", "The id of this candidate."},
    {"metadata", "TEXT", "", "What others are shown of the leader, such as an address."},
    {"grace", "TIME", "a fifth of the lease",
     "How long before a forced end the work is told to stop."},
    {"drain", "TIME", "10 leases", "How long the work may take to end on a voluntary hand-over."},
    {"term-limit", "TIME", "none", "Hand over after leading that long."},
    {"json", "", "", "One JSON object per line."},
    {"config", "FILE", "", "Read options from a file with lines such as: store = file:"},
    {"once", "", "", "Run the command at most once, also when leadership is lost meanwhile."},
    {"restart", "WHEN", "never",
     "Run it again when it ends by itself: never, on-failure or always."},
    {"on-lost", "WHAT", "wait", "When leadership is lost: wait to be elected again, or exit."},
    {"timeout", "TIME", "none", "Give up when not elected within that time."},
    {"purge", "", "", "Forget the last term, too: what was fenced with it then accepts old terms."},
    {"rounds", "N", "bench 50, bench scale and idle 10, demo 9",
     "How often to measure; for scale, for how many seconds; for idle, for how many leases."},
    {"candidates", "N", "3, scale 1000, idle 101 or as many as the server has connections for",
     "How many candidates take part."},
    {"elections", "N", "1", "For crash: how many elections the leader holds."},
    {"keep", "", "", "Leave the demonstration's folder behind, to look at."},
};

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<VerbSpec>& all_verbs() {
  static const std::vector<VerbSpec> table = {
      {"run",
       "Run a command only while this process leads",
       "[--] COMMAND [ARGUMENT...]",
       {"store", "election", "lease", "id", "metadata", "grace", "drain", "term-limit", "once",
        "restart", "on-lost", "timeout", "config"},
       "Waits to be elected, then runs COMMAND in a process group of its own, with\n"
       "CONCLAVE_ELECTION, CONCLAVE_CANDIDATE and CONCLAVE_TERM in its environment. Signals are\n"
       "passed on. Before a forced end of the term the group gets SIGTERM, and SIGKILL before the\n"
       "lease is over, also when this process itself is killed or stopped. When the command ends,\n"
       "the place is released at once, and its exit code is passed through.\n"
       "The election is the command's own name unless one is given.",
       "conclave run -- ./nightly-report\n"
       "conclave run --store redis://localhost:6379 -- ./nightly-report\n"
       "conclave run --store postgres://localhost/jobs -- ./nightly-report\n"
       "conclave run --store file:/var/lib/jobs --election billing --restart always -- ./worker"},
      {"join",
       "Stand as a candidate and print what happens",
       "",
       {"store", "election", "lease", "id", "metadata", "grace", "drain", "term-limit", "json",
        "config"},
       "SIGTERM and SIGINT stop it gracefully, SIGUSR1 makes it resign. With --json each line has\n"
       "event (started, follower, elected, extended, jeopardy, stopping, lost, leader_changed,\n"
       "error, stopped), at_ns (CLOCK_BOOTTIME), election, candidate, and where they apply term,\n"
       "valid_until_ns, reason, leader, message, code, retryable, times.",
       "conclave join --election reports\n"
       "conclave join --store postgres://localhost/jobs --election reports\n"
       "conclave join --election reports --json | jq -r .event"},
      {"status",
       "Say who leads",
       "",
       {"store", "election", "json", "config"},
       "Exit code 3 when nobody leads.",
       "conclave status --election reports\n"
       "conclave status --election reports --json | jq -r .leader"},
      {"watch",
       "Show who leads, as it changes",
       "",
       {"store", "election", "json", "config"},
       "A live view on a terminal, lines otherwise. Ends with Ctrl-C.",
       "conclave watch --election reports"},
      {"end",
       "End an election for all its candidates",
       "",
       {"store", "election", "json", "config"},
       "Everybody who takes part is told, and nobody is elected any more until it is removed.",
       "conclave end --election reports"},
      {"remove",
       "Remove what an ended election left behind",
       "",
       {"store", "election", "purge", "json", "config"},
       "Keeps the number of the last term, so that the terms go on growing when the election "
       "begins\n"
       "anew; --purge forgets that, too.",
       "conclave end --election reports\n"
       "conclave remove --election reports"},
      {"doctor",
       "Find settings of the store that weaken the promise",
       "",
       {"store", "lease", "json", "config"},
       "Exit code 0: nothing but notes; 4: warnings; 5: dangers.",
       "conclave doctor --store file:\n"
       "conclave doctor --store redis://localhost:6379\n"
       "conclave doctor --store postgres://localhost/jobs"},
      {"sql",
       "Print the statements that make the tables of a store",
       "",
       {"store", "config"},
       "For administrators, where candidates have no right to make them. Nothing is connected. "
       "Exit\n"
       "code 2 where the store has none, as PostgreSQL with tables=false.",
       "conclave sql --store 'postgres://db.example/jobs?schema=elections'"},
      {"bench",
       "Measure elections and hand-overs",
       "first|handoff|crash|check|scale|idle",
       {"store", "lease", "rounds", "candidates", "elections", "json", "config"},
       "first: from the start to the election. handoff: from the instant at which the old "
       "leader's\n"
       "is_leader() is false to the new one's election. crash: the same from kill -9 of the "
       "leader,\n"
       "with --elections until all of them are led anew.\n"
       "check: one is_leader() against one reading of the clock. scale: many candidates in one "
       "process.\n"
       "idle: commands that a server executes in each lease for a leader and its idle followers.\n"
       "For the first three, candidates are processes, and raw is the same by a minimal client of "
       "the\n"
       "store without the library, in the same run; bare is that without waiting for the disk.",
       "conclave bench handoff --store file: --rounds 100\n"
       "conclave bench handoff --store redis://localhost:6379\n"
       "conclave bench crash --store postgres://localhost/jobs --elections 1000\n"
       "conclave bench crash --json"},
      {"demo",
       "Show three candidates, hand-overs and crashes, in ten seconds",
       "",
       {"rounds", "keep", "config"},
       "Three candidates as processes on the file store, in a folder of its own that is removed at "
       "the end.",
       "conclave demo"},
      {"completion",
       "Print a completion script for a shell",
       "bash|zsh|fish",
       {},
       "",
       "source <(conclave completion bash)"},
      {"man", "Print the manual page", "", {}, "", "conclave man | man -l -"},
      {"version",
       "Print the version and the stores of this build",
       "",
       {"json", "config"},
       "",
       "conclave version"},
  };
  return table;
}

constexpr ExitCodeSpec all_exit_codes[] = {
    {"0", "all went well; status: somebody leads; doctor: nothing but notes"},
    {"1", "the store failed, or refused what was asked; the output could not be written"},
    {"2", "wrong usage: an option, a duration, a name, a URL, a store that cannot be opened"},
    {"3", "status: nobody leads"},
    {"4", "doctor: warnings"},
    {"5", "doctor: dangers"},
    {"75", "run --on-lost exit, or --once: leadership was lost before the command ended"},
    {"124", "run --timeout: was not elected in time"},
    {"125", "run: conclave itself failed, one of its processes was ended, or the election was"},
    {"126", "run: the command cannot be executed"},
    {"127", "run: the command was not found"},
    {"128+N",
     "run: signal N ended the command, or the wait for it; bench, demo: it was interrupted"},
    {"other", "run: the command's own"},
};

}  // namespace

std::span<const VerbSpec> verbs() { return all_verbs(); }
std::span<const OptionSpec> options() { return all_options; }
std::span<const ExitCodeSpec> exit_codes() { return all_exit_codes; }

const VerbSpec& verb(std::string_view name) {
  const auto& table = all_verbs();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [name](const VerbSpec& each) { return each.name == name; });
  assert(found != table.end());
  return *found;
}

const OptionSpec& option(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(all_options), std::end(all_options),
                   [name](const OptionSpec& each) { return each.name == name; });
  assert(found != std::end(all_options));
  return *found;
}

std::string variable_of(std::string_view option) {
  std::string variable = "CONCLAVE_";
  for (const char c : option) {
    variable += c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return variable;
}

}  // namespace conclave::app
