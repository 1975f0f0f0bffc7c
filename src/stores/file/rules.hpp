// What the content of an election's file means: who may have the place, and on what. Pure.
#pragma once

#include <optional>

#include <conclave/store.hpp>

#include "stores/file/slots.hpp"

namespace conclave::file {

// Who grants, and when.
struct Granting {
  Duration lease{};
  std::int64_t wall_clock = 0;  // microseconds since 1970
  std::int32_t process = 0;
  Boot boot{};
};

// What is there while nobody has the lock; for those who look.
[[nodiscard]] Vacancy shown_vacancy(const Content& content) noexcept;

// What a bidder finds who has the lock. A free lock is the kernel's word that the process of the
// last term is over, or has given the term back. So a place that was given back before it was valid
// is `ended`, too, and nobody waits for it. It is `abandoned` only when that term itself was still
// waiting for somebody else: that wait is handed on.
[[nodiscard]] Vacancy found_vacancy(const Content& content, Term highest_term_seen) noexcept;

// Why that bid gets nothing even when the place is free.
[[nodiscard]] std::optional<Error> refusal(const Content& content, const Bid& bid,
                                           const Boot& boot);

// The state after a grant to that bid. Its term is above the last one, above all that the bidder
// has seen, and at least the wall clock, so that it grows even when the file was lost. Where grants
// may be missing from the file, after a boot or where a slot is torn, it is above the reserve, too.
[[nodiscard]] Slot granted_slot(const Content& content, const Bid& bid, const Granting& granting);

// The state after a removal: the trace that keeps the terms growing, and the lease of who may not
// have heard.
[[nodiscard]] Slot removed_slot(const Content& content);

// Whether that term may be granted without waiting for the disk.
[[nodiscard]] bool is_reserved(const Content& content, Term term, const Boot& boot) noexcept;
// The reserve to be synced before it is, not yet confirmed.
[[nodiscard]] Reserve next_reserve(const Content& content, Term term) noexcept;

// What is left when a power failure has torn both slots: a trace. Nobody believes in anything from
// before it. Nothing when they were damaged in another way.
[[nodiscard]] std::optional<Content> recovered(const Image& image, std::string_view election,
                                               const Boot& boot);

[[nodiscard]] Record record_of(const Slot& slot);

[[nodiscard]] Error election_ended(const std::string& election);
[[nodiscard]] Error attempt_is_over();

}  // namespace conclave::file
