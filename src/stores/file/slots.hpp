// What stands in an election's file, and how: pure bytes, no file in sight.
//
//   0      slot 0  } the last two states of the election; the one with the higher sequence counts.
//   8192   slot 1  } A new state overwrites the other slot, so that a torn write loses nothing.
//   16384  mark    what became of the term in the slot: settled, released, abandoned
//   16896  ending  whether the election was ended
//   17408  reserve 0  } up to which number terms may be granted without waiting for the disk; two
//   17920  reserve 1  } like the slots
//   20480  the end
//
// What only a power failure could take need not be synced as long as nobody misses it then. A
// grant, a slot, is not: the reserve that covers its term is, and the first grant after a boot is
// above that. A mark is not: without it the next one finds a term whose process is over, which is
// true and only less polite. Each piece begins with the same header (magic, format, length,
// checksum) in this and all later formats, so that a later one is recognised for what it is.
// Numbers are little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <conclave/result.hpp>
#include <conclave/store.hpp>

#include "stores/file/boot.hpp"

namespace conclave::file {

inline constexpr std::size_t slot_size = 8192;
inline constexpr std::size_t mark_size = 512;
inline constexpr std::size_t mark_offset = 2 * slot_size;
inline constexpr std::size_t ending_offset = mark_offset + mark_size;
inline constexpr std::size_t file_size = 20480;
// How far a reserve reaches. Terms follow the clock in microseconds, so this is an hour.
inline constexpr std::uint64_t reserve_span = 3'600'000'000;
inline constexpr std::uint32_t format_version = 1;

using Image = std::array<std::byte, file_size>;
using SlotBytes = std::array<std::byte, slot_size>;
using MarkBytes = std::array<std::byte, mark_size>;

enum class State : std::uint8_t {
  fresh = 0,    // no term was ever granted here
  granted = 1,  // held as long as the file is locked; then what the mark says
  removed = 2,  // the trace of an election that was removed
};

// One state of an election. `term` and `lease` survive a removal.
struct Slot {
  std::uint64_t sequence = 0;
  State state{};
  Term term{};
  Attempt attempt{};
  Duration lease{};      // what others wait for, see Record::lease
  Duration own_lease{};  // what the holder counts on
  Duration previous_lease{};
  Vacancy granted_on{};  // what the holder found
  // Nobody of an earlier term can believe in it any more: neither the holder of this term nor who
  // comes after it has to wait for one.
  bool settled = false;
  std::int64_t granted_at = 0;  // wall clock, microseconds; for people
  std::int32_t process = 0;     // its id; for people
  std::string election{};
  std::string candidate{};
  std::string metadata{};
};

enum class MarkKind : std::uint8_t {
  none = 0,
  settled = 1,    // the term has waited for those before it, and is valid
  released = 2,   // its holder stepped down
  abandoned = 3,  // given back before it was valid
};

// All terms ever granted are at most this one, whatever a power failure has taken.
struct Reserve {
  std::uint64_t sequence = 0;
  Term term{};
  Boot boot{};  // it was synced in this one; written after that, and never missed
};

// Everything that an election's file says.
struct Content {
  Slot slot{};
  Reserve reserve{};
  MarkKind mark{};  // of the term in the slot; marks of other terms count as none
  bool ended = false;
  bool torn = false;  // there was another state, which may have been a later one

  [[nodiscard]] bool settled() const noexcept {
    return slot.settled || mark == MarkKind::settled || mark == MarkKind::released;
  }
  [[nodiscard]] bool marked() const noexcept {
    return mark == MarkKind::released || mark == MarkKind::abandoned;
  }
};

// Names and metadata have passed check_election_name() and its siblings, so they fit.
[[nodiscard]] SlotBytes encode(const Slot& slot);
[[nodiscard]] MarkBytes encode_mark(const Slot& of, MarkKind kind);
[[nodiscard]] MarkBytes encode_ending(bool ended);
[[nodiscard]] MarkBytes encode_reserve(const Reserve& reserve);

// A new file for that election.
[[nodiscard]] Image fresh_image(std::string_view election);

// Where the state with that sequence is written.
[[nodiscard]] constexpr std::size_t slot_offset(std::uint64_t sequence) noexcept {
  return sequence % 2 * slot_size;
}

[[nodiscard]] constexpr std::size_t reserve_offset(std::uint64_t sequence) noexcept {
  return ending_offset + (1 + sequence % 2) * mark_size;
}

// The newest whole one; zeros when there is none.
[[nodiscard]] Reserve decode_reserve(const Image& image);

// `where` is what an error names: the path.
[[nodiscard]] Result<Content> decode(const Image& image, std::string_view election,
                                     const std::string& where);

}  // namespace conclave::file
