// The process that stands for election and is the command's parent.
#pragma once

#include "apps/conclave/arguments.hpp"
#include "apps/conclave/child.hpp"
#include "apps/conclave/shared_page.hpp"

namespace conclave::app {

// Descriptors: what the other two processes are heard by.
struct Companions {
  int control;   // brings the numbers of signals from the front, and ends when the front does
  int guardian;  // is readable once the guardian has ended
};

// The exit code is the command's, or one of exit_codes.hpp.
int keep(const RunArguments& arguments, const ChildSpec& command, const Companions& companions,
         SharedPage& page);

}  // namespace conclave::app
