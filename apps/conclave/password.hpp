// A password among the arguments.
#pragma once

namespace conclave::app {

// It was used, and is now made invisible to `ps`: in the first `count` arguments. True when there
// was one.
bool hide_password(int count, char** arguments);

}  // namespace conclave::app
