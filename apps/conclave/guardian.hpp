// The third process of `conclave run`, for when the keeper is killed or stopped.
#pragma once

#include "apps/conclave/family.hpp"
#include "apps/conclave/shared_page.hpp"

namespace conclave::app {

// Called by the keeper before it has a thread or a store. Gives a descriptor that is readable once
// the guardian has ended.
//
// The guardian shares the keeper's descriptors, all that it will ever open. So when the keeper is
// killed, the kernel closes neither the lock on a file nor a connection to a server: the place
// stays taken until the guardian, too, is gone, and it goes only when nobody of the family is left.
// And when the keeper is stopped, the guardian ends the family in time. `strangers` are below the
// front, too, where the family comes when the keeper is killed.
[[nodiscard]] int start_guardian(int front, const Strangers& strangers, SharedPage& page);

}  // namespace conclave::app
