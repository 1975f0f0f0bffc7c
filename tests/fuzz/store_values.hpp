// What every store owes to whoever counts with what it read: the sanitizers watch.
#pragma once

#include <conclave/store.hpp>

#include "fuzz/fuzz.hpp"

namespace conclave::fuzz {

// Whoever counts with a lease multiplies it, and adds it to times.
inline void count_with(Duration lease) {
  expect(lease >= Duration::zero() && lease * 4 / 5 <= lease, "leases can be counted with");
}

inline void take(const Record& record) {
  count_with(record.lease);
  if (record.renewed) {
    expect(*record.renewed + record.lease >= *record.renewed, "times can be counted with");
  }
  if (record.renewed && record.server_time) {
    static_cast<void>(*record.server_time - *record.renewed);
  }
}

inline void take(const std::optional<Observation>& seen) {
  if (!seen) return;
  if (const auto* record = std::get_if<Record>(&*seen)) take(*record);
}

inline void take_error(const Error& error) {
  expect(!error.message.empty() && error.message.size() < 1000, "an error is a sentence");
  expect(error.message.find_first_of("\r\n") == std::string::npos, "and one line");
}

}  // namespace conclave::fuzz
