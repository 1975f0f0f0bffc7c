// Questions to a store, asked from any thread and waited for. For tools and tests; candidates and
// observers do not need them.
#pragma once

#include <string>
#include <vector>

#include <conclave/export.hpp>
#include <conclave/result.hpp>
#include <conclave/store.hpp>

namespace conclave {

// Each gives an error with the code timed_out when the store has not answered within `limit`, and
// at once one with the code invalid_state in a child after fork(): the store is its parent's.

// Who leads, who stands in line, and what was the last term.
[[nodiscard]] CONCLAVE_API Result<Inspection> inspect(Store& store, const std::string& election,
                                                      Duration limit = std::chrono::seconds{5});

// Ends an election for all its candidates. False when there is none of that name.
[[nodiscard]] CONCLAVE_API Result<bool> end(Store& store, const std::string& election,
                                            Duration limit = std::chrono::seconds{5});

// Removes what an ended election left behind. The trace that keeps its terms growing remains,
// unless you want nothing to remain. False when there is none of that name.
[[nodiscard]] CONCLAVE_API Result<bool> remove(Store& store, const std::string& election,
                                               Remains remains = Remains::trace,
                                               Duration limit = std::chrono::seconds{5});

// The settings of the store that would weaken the promise.
[[nodiscard]] CONCLAVE_API Result<std::vector<Finding>> check(Store& store,
                                                              Duration limit = std::chrono::seconds{
                                                                  5});

}  // namespace conclave
