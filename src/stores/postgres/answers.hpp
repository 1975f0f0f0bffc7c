// What the rows of our statements mean.
#pragma once

#include "stores/postgres/session.hpp"

namespace conclave::postgres {

// ---- trouble
[[nodiscard]] Error given_up(const std::string& where);
[[nodiscard]] Error nonsense(const std::string& where);
// It is committed here, but the standby that may be promoted does not have it.
[[nodiscard]] Error not_replicated(const std::string& where);

// ---- campaign
[[nodiscard]] Error newer(const std::string& election);
// Of the words that say no for good.
[[nodiscard]] std::optional<Error> refusal_in(const std::string* word, const std::string& election);
[[nodiscard]] std::optional<Granted> granted_in(const Delivered& answer, std::size_t row);
// `lease` is when to look again where no clock tells.
[[nodiscard]] std::optional<Held> held_in(const Rows& rows, std::size_t row, Duration lease);
// Whose lock to wait for; zero where the holder has none.
[[nodiscard]] std::int64_t life_in(const Rows& rows, std::size_t row, std::size_t life,
                                   std::size_t kind);

// ---- the others
// What the server tells those who listen: that a place is free, or that something else has changed.
struct Letter {
  std::string election{};
  Term term{};
  std::optional<Vacancy> vacancy{};
};
[[nodiscard]] std::optional<Letter> letter_in(std::string_view text);

// Whether the column says that our session row is not there.
[[nodiscard]] bool has_lost_life(const Rows& rows, std::size_t column);
[[nodiscard]] RenewAnswer renewed_in(const Rows& rows, std::size_t row, Instant sent,
                                     const std::string& where);
// Of a look: whether the row is of a later version, so that nobody knows what it means.
[[nodiscard]] bool is_newer(const Rows& rows, std::size_t row);
[[nodiscard]] std::optional<Observation> observed_in(const Rows& rows, std::size_t row);
[[nodiscard]] std::optional<Inspection> inspection_in(const Rows& rows, std::size_t row);
[[nodiscard]] conclave::Answer removed_in(const Rows& rows, const std::string& where);

}  // namespace conclave::postgres
