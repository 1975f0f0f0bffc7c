// The words of a scenario's inputs: "campaign granted term 7, absent, server age 1s".
//
//   start | stop | tick | resign asked | healthy | unhealthy
//   work ended term 7 | term limit term 7
//   campaign granted term 7, VACANCY[, lease 3s][, previous lease 3s][, server age 1s]
//   campaign held[ by NAME term 7][, version 1][, lease 3s][, server time 100s]
//                                 [, place 1][, look again in 2s]
//   campaign unknown | campaign refused[, CODE]
//   renew done | renew lost REASON | renew unknown | renew refused
//   resign done | resign gone | resign unknown | resign refused
//   observed by NAME term 7[, version 1][, lease 3s][, server time 100s]
//   observed vacant VACANCY term 7 | observed your turn | session lost | ended
//
// An answer belongs to the latest call of its verb unless ", op 3" names another one, and counts
// from the instant when that call was sent unless ", since 1s" names another one.
#pragma once

#include <string>

#include "scenario/rig.hpp"

namespace conclave::test {

// Throws std::runtime_error with a sentence when it does not understand.
[[nodiscard]] core::Input parse_input(const std::string& phrase, const Rig& rig);
[[nodiscard]] Duration parse_duration(const std::string& word);

}  // namespace conclave::test
