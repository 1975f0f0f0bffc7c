// What the command says when it ends. Documented in the man page; scripts depend on them.
#pragma once

namespace conclave::app {

enum ExitCode : int {
  ok = 0,
  failed = 1,              // the store, or what was asked of it
  wrong_usage = 2,         // options, durations, names
  nobody_leads = 3,        // status
  warnings_found = 4,      // doctor
  danger_found = 5,        // doctor
  lost = 75,               // run --on-lost exit: leadership was lost before the command ended
  not_elected = 124,       // run --timeout: was not elected in time
  cannot_supervise = 125,  // run: conclave itself failed
  not_executable = 126,    // run: the command cannot be executed
  not_found = 127,         // run: the command was not found
  by_signal = 128,         // run: plus the number of the signal that ended the command
};

}  // namespace conclave::app
