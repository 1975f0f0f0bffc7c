// One election's file: looking at it, taking the place, keeping it, giving it back.
//
// The lock is the judge. Whoever has it on the file that the path leads to has the place; the slots
// say who that is. A lock on a file without a name protects nobody: so a file is unlinked by
// purge() only, with the lock in hand, and whoever gets the lock makes sure that the path still
// leads to it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>

#include <conclave/store.hpp>

#include "stores/file/disk.hpp"
#include "stores/file/rules.hpp"
#include "stores/file/slots.hpp"

namespace conclave::file {

struct Look {
  std::optional<Content> content{};  // nothing: there is no such file
  Identity identity{};
  bool locked = false;

  // Somebody has the place, and the slot says who. Between the lock and the slot, and between the
  // mark and the end of the lock, nobody has.
  [[nodiscard]] bool held() const noexcept {
    return locked && content && content->slot.state == State::granted && !content->marked();
  }
};

// The place, as long as this lives.
class Seat {
 public:
  Seat(net::Descriptor lock, Identity identity, Slot slot);

  [[nodiscard]] const Slot& slot() const noexcept { return slot_; }
  [[nodiscard]] int descriptor() const noexcept { return lock_.get(); }
  [[nodiscard]] bool carries(const Attempt& attempt, std::optional<Term> term) const noexcept;

  // Whether what was found at the place ends this term, and why.
  [[nodiscard]] std::optional<LossReason> lost_by(const Look& look) const noexcept;

  // The term is valid: nobody waits any more for those before it.
  void settle();

  // Leaves the mark, then the place. A mark that cannot be written is only missed.
  void leave(MarkKind mark);

 private:
  net::Descriptor lock_;
  Identity identity_;
  Slot slot_;
  bool settled_;
};

enum class MayWait { no, yes };  // for the disk

struct WouldWait {};

// The place itself; how it is for who came too late; or why it cannot be had.
using Take = std::variant<Seat, Look, Error, WouldWait>;

class Place {
 public:
  Place(const std::string& directory, std::string election);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  // Takes no lock, and opens nothing for writing.
  [[nodiscard]] Result<Look> look() const;

  // What the holder has to know, without opening anything: it works when no descriptors are left.
  [[nodiscard]] Result<std::optional<LossReason>> check(const Seat& seat) const;

  // Nearly always it need not wait: then it only writes to what the kernel has in memory.
  [[nodiscard]] Take take(const Bid& bid, Duration lease, MayWait may_wait) const;

  // These wait for the disk.
  [[nodiscard]] Answer end() const;
  [[nodiscard]] Answer remove() const;
  [[nodiscard]] Answer purge() const;

 private:
  [[nodiscard]] Result<Content> read(int descriptor) const;
  [[nodiscard]] Answer when_free(const std::function<Answer(int, const Content&)>& act) const;
  [[nodiscard]] Result<Look> look_through(int descriptor) const;
  [[nodiscard]] Take sit(net::Descriptor file, Identity identity, const Bid& bid, Duration lease,
                         MayWait may_wait) const;
  [[nodiscard]] std::optional<Error> reserve(int descriptor, Reserve reserve,
                                             const Boot& boot) const;
  // And waits for the disk.
  [[nodiscard]] std::optional<Error> write(int descriptor, std::span<const std::byte> bytes,
                                           std::size_t offset) const;

  std::string path_;
  std::string election_;
};

}  // namespace conclave::file
