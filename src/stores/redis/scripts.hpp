// The scripts by which the server decides, each as one step.
//
// They keep the rules of conclave/store.hpp where only the server can keep them: between reading a
// record and writing it nobody comes. docs/stores/redis.md says what is stored where.
#pragma once

#include <string>
#include <string_view>

namespace conclave::redis {

struct Script {
  std::string_view name;   // for people
  std::string_view flags;  // understood since Redis 7
  std::string_view body;
  bool calls_up = false;  // somebody who has waited: to be told before who asks
};

// KEYS record, queue, waiting, metadata
// ARGV attempt, candidate, lease, highest term seen, metadata, seen term, seen stamp,
//      expected server time, inbox, server, patient, time until the server has decided for a lease
// Gives GRANTED term own_lease vacancy previous_lease | HELD place wait now [record]
//     | VANISHED place wait lease | FINISHED | ENDED | CHANGED | EXHAUSTED | a fault
extern const Script campaign;

// KEYS one record after the other    ARGV attempt, term of each
// Gives for each one: renewed, ended, superseded, gone, older, or what else is in its place
extern const Script renew;

// KEYS record, metadata    ARGV attempt, term, lease, candidate, metadata
// Writes a record anew that vanished or is older. Gives the same as renew, for one.
extern const Script repair;

// KEYS record, queue, waiting, metadata    ARGV attempt, term or nothing, released or abandoned
// Gives DONE [the mark that was left] | GONE | a fault
extern const Script resign;

// KEYS record, queue, waiting, metadata    ARGV term
// Tells everybody who leads, and the next in line that it is that; or that the place of that term
// is still free.
extern const Script announce;

// KEYS record, metadata, one pair after the other. Gives for each one: now, then the record's
// fields
extern const Script look;

// KEYS record, queue, waiting, metadata. Gives what look gives for one, then the bids in their
// order
extern const Script inspect;

// KEYS record, queue, waiting, metadata    Gives DONE | GONE | a fault
extern const Script end;

// KEYS record, queue, waiting, metadata    ARGV trace or nothing
// Gives DONE | GONE | HELD | BELIEVED | a fault
extern const Script remove;

// KEYS server    ARGV the server's identity    Gives for how long it is known, in microseconds
extern const Script age;

// What several have in common, for --common--, --line-- and --shown-- in their bodies.
extern const std::string_view script_common;
extern const std::string_view script_line;
extern const std::string_view script_shown;

// The text that the server is sent: with flags it is only understood since Redis 7.
[[nodiscard]] std::string text_of(const Script& script, bool with_flags);

// What EVALSHA names it by.
[[nodiscard]] std::string digest_of(std::string_view text);

}  // namespace conclave::redis
