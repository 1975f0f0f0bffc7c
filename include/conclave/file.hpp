// The store `file:`: elections among the processes of one machine, without any server.
//
//   auto store = make_file_store({.directory = "/var/lib/reports"});
//   auto store = make_file_store();                                   // the user's own directory
//
// One file per election, and the kernel's lock on it is the judge. That makes it quick and honest:
// the kernel gives the lock up when its holder dies, in whatever way, and the next one leads within
// a millisecond; followers are woken, nobody polls.
//
// What to know about it
//  - One machine. The directory has to be on a local file system: network ones (NFS, SMB, FUSE and
//    their kind) are refused unless forced. Containers take part when they share one volume.
//  - A lease never expires here. A holder that hangs, or is stopped (SIGSTOP), is not valid any
//  more
//    when its lease is over, as everywhere, but it keeps the place, and nobody else leads until it
//    goes on or dies. Where that will not do, let `conclave run` kill it, or use another store.
//  - Terms are at least the wall clock in microseconds, and above all that the file and the bidder
//    have seen: they grow even when the directory was deleted. A grant is on the disk before it is
//    told.
//  - No queue: whoever is first when the place becomes free has it.
//  - A grant that is given back before it was valid delays nobody: the lock is free, so no process
//    believes in it. Only a grant that was itself waiting (after lost data) hands its wait on.
//  - A file that is deleted or replaced under its holder ends the term at once. Do not do it: a
//    candidate that has never seen a term there cannot know that somebody led.
//  - A forked child never holds its parent's place.
//  - All candidates run as the same user: the directory has mode 0700, its files 0600.
#pragma once

#include <memory>
#include <string>

#include <conclave/export.hpp>
#include <conclave/loop.hpp>
#include <conclave/store.hpp>

namespace conclave {

struct FileOptions {
  // Where the elections live. It is made when it is missing, and its parents too. A relative path
  // counts from the present working directory. Empty: default_file_directory().
  std::string directory{};
  // How long a holder counts on a renewal, and for how long one is waited for whose file was lost.
  Duration lease{std::chrono::seconds{3}};
  // Use a network file system all the same. It is right only when this machine alone uses it.
  bool force = false;
  // The loop to run on, from make_loop(); several stores may share one. Empty: one of its own.
  std::shared_ptr<Loop> loop{};
};

// Throws std::invalid_argument, with one sentence that names the directory and the fix, when that
// cannot be used or the lease is out of its range.
[[nodiscard]] CONCLAVE_API std::shared_ptr<Store> make_file_store(FileOptions options = {});

// $XDG_STATE_HOME/conclave, else .local/state/conclave in the user's home. Empty when there is
// none.
[[nodiscard]] CONCLAVE_API std::string default_file_directory();

}  // namespace conclave
