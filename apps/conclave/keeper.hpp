// The process that stands for election and is the command's parent.
#pragma once

#include "apps/conclave/arguments.hpp"
#include "apps/conclave/child.hpp"
#include "apps/conclave/shared_page.hpp"

namespace conclave::app {

// `control` brings the numbers of signals from the front, and ends when the front does. The exit
// code is the command's, or one of exit_codes.hpp.
int keep(const RunArguments& arguments, const ChildSpec& command, int control, SharedPage& page);

}  // namespace conclave::app
