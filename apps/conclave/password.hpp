// Passwords where others might see them: among the arguments, in the environment, in files.
#pragma once

#include <string>
#include <vector>

#include "apps/conclave/arguments.hpp"

namespace conclave::app {

// It was used, and is now made invisible to `ps`: in the first `count` arguments. True when there
// was one.
bool hide_password(int count, char** arguments);

// CONCLAVE_STORE was used, and is now overwritten where /proc/PID/environ shows it, here and in all
// processes that come from this one.
void hide_store_in_environment();

// Of each file with a password that others than its owner may read: a sentence with the fix.
[[nodiscard]] std::vector<std::string> exposed_files(const StoreArguments& store);

}  // namespace conclave::app
