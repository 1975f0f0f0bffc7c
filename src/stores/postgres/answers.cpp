#include "stores/postgres/answers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "stores/postgres/texts.hpp"

namespace conclave::postgres {
namespace {

// When a row is in somebody's hands at this moment.
constexpr Duration a_moment = std::chrono::milliseconds{5};

// Where the columns of a record are.
struct Columns {
  std::size_t leader, metadata, term, attempt, stamp, lease, renewed, granted, now;
};
constexpr Columns in_campaign{7, 8, 9, 10, 11, 12, 13, 14, 6};
constexpr Columns in_look{3, 4, 5, 6, 7, 8, 9, 10, 14};

std::string_view word_in(const Rows& rows, std::size_t row, std::size_t column) {
  const std::string* const text = rows.text(row, column);
  return text != nullptr ? std::string_view(*text) : std::string_view{};
}

// What is more is nonsense, and sums and multiples of it would not fit into a Duration: the year
// 2223, and more than any lease.
constexpr std::int64_t latest_micros = 8'000'000'000'000'000;
constexpr std::int64_t longest_micros = 10'000'000'000'000;

std::optional<Duration> micros_up_to(std::int64_t most, const Rows& rows, std::size_t row,
                                     std::size_t column) {
  const auto number = rows.number(row, column);
  if (!number || *number < 0 || *number > most) return std::nullopt;
  return from_micros(*number);
}

std::optional<Duration> lease_in(const Rows& rows, std::size_t row, std::size_t column) {
  return micros_up_to(longest_micros, rows, row, column);
}

std::optional<Duration> time_in(const Rows& rows, std::size_t row, std::size_t column) {
  return micros_up_to(latest_micros, rows, row, column);
}

std::optional<Record> record_in(const Rows& rows, std::size_t row, const Columns& at) {
  const auto term = rows.number(row, at.term);
  const auto attempt = parse_attempt(word_in(rows, row, at.attempt));
  const auto stamp = rows.number(row, at.stamp);
  const auto lease = lease_in(rows, row, at.lease);
  const auto now = time_in(rows, row, at.now);
  if (!term || !attempt || !stamp || !lease || !now) return std::nullopt;
  Record record;
  record.leader = word_in(rows, row, at.leader);
  record.metadata = word_in(rows, row, at.metadata);
  record.term = {static_cast<std::uint64_t>(*term)};
  record.attempt = *attempt;
  record.stamp = static_cast<std::uint64_t>(*stamp);
  record.lease = *lease;
  record.server_time = ServerTime{*now};
  if (const auto renewed = time_in(rows, row, at.renewed)) record.renewed = ServerTime{*renewed};
  if (const auto granted = time_in(rows, row, at.granted)) {
    record.granted = WallTime{std::chrono::floor<WallTime::duration>(*granted)};
  }
  return record;
}

}  // namespace

Error given_up(const std::string& where) {
  return {
      ErrorCode::cancelled,
      where +
          " did not answer in time (request_timeout): check that it can be reached, and that it, "
          "or a pooler before it, has connections left; conclave doctor finds more",
      true, true};
}

Error nonsense(const std::string& where) {
  return {ErrorCode::unsupported,
          where +
              " answered with rows that make no sense: are its tables written by this library "
              "only?",
          true, true};
}

Error not_replicated(const std::string& where) {
  return {ErrorCode::unavailable,
          where +
              " did not wait for its synchronous standby: what was asked for may be lost with "
              "a promotion",
          true, true};
}

Error newer(const std::string& election) {
  return {ErrorCode::unsupported,
          "the election \"" + election +
              "\" was written by a newer version of Conclave: update this one",
          false, false};
}

std::optional<Error> refusal_in(const std::string* word, const std::string& election) {
  if (word == nullptr) return std::nullopt;
  if (*word == "over") {
    return Error{ErrorCode::election_ended,
                 "the election \"" + election + "\" was ended: remove it to begin anew", false,
                 false};
  }
  if (*word == "finished") {
    return Error{ErrorCode::invalid_state,
                 "this attempt was already resigned: campaign with a new one", false, false};
  }
  if (*word == "newer") return newer(election);
  return std::nullopt;
}

std::optional<Granted> granted_in(const Delivered& answer, std::size_t row) {
  const Rows& rows = answer.rows;
  if (word_in(rows, row, 1) != "granted") return std::nullopt;
  const auto term = rows.number(row, 2);
  const auto vacancy = parse_vacancy(word_in(rows, row, 3));
  const auto lease = lease_in(rows, row, 4);
  const auto previous = lease_in(rows, row, 5);
  if (!term || *term <= 0 || !vacancy || !lease || !previous) return std::nullopt;
  Granted granted;
  granted.term = {static_cast<std::uint64_t>(*term)};
  granted.since = answer.sent;
  granted.lease = *lease;
  granted.vacancy = *vacancy;
  granted.previous_lease = *previous;
  return granted;
}

std::optional<Held> held_in(const Rows& rows, std::size_t row, Duration lease) {
  const auto word = word_in(rows, row, 1);
  if (word == "busy") return Held{.look_again_in = a_moment};
  if (word != "held") return std::nullopt;
  auto record = record_in(rows, row, in_campaign);
  if (!record) return std::nullopt;
  Held held;
  held.look_again_in = lease;
  if (record->renewed) {
    const Duration left = *record->renewed + record->lease - *record->server_time;
    // More than a lease is left where the server's clock was set back.
    held.look_again_in = std::clamp(left, Duration::zero(), record->lease);
  }
  held.record = std::move(record);
  return held;
}

std::int64_t life_in(const Rows& rows, std::size_t row, std::size_t life, std::size_t kind) {
  return word_in(rows, row, kind) == "lease" ? 0 : rows.number(row, life).value_or(0);
}

std::optional<Letter> letter_in(std::string_view text) {
  const auto word = text.substr(0, text.find(' '));
  if (word.size() == text.size()) return std::nullopt;
  text.remove_prefix(word.size() + 1);
  const auto number = text.substr(0, text.find(' '));
  std::uint64_t term = 0;
  const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), term);
  if (failed != std::errc{} || end != number.data() + number.size() ||
      end == text.data() + text.size()) {
    return std::nullopt;
  }
  Letter letter{std::string(text.substr(number.size() + 1)), {term}, {}};
  const auto vacancy = parse_vacancy(word);
  if (vacancy == Vacancy::released || vacancy == Vacancy::abandoned) letter.vacancy = vacancy;
  return letter;
}

bool has_lost_life(const Rows& rows, std::size_t column) { return word_in(rows, 0, column) == "f"; }

RenewAnswer renewed_in(const Rows& rows, std::size_t row, Instant sent, const std::string& where) {
  const auto word = word_in(rows, row, 1);
  if (word == "renewed") return Renewed{sent};
  if (word == "gone") return TermLost{LossReason::record_gone};
  if (word == "superseded") return TermLost{LossReason::superseded};
  if (word == "ended") return TermLost{LossReason::election_ended};
  return Unknown{nonsense(where)};
}

bool is_newer(const Rows& rows, std::size_t row) { return rows.number(row, 1).value_or(1) > 1; }

std::optional<Observation> observed_in(const Rows& rows, std::size_t row) {
  if (is_newer(rows, row)) return std::nullopt;
  if (word_in(rows, row, 13) == "t") return Ended{};
  const auto state = word_in(rows, row, 2);
  const auto term = rows.number(row, 5);
  if (!term) return std::nullopt;
  if (state == "held") {
    auto record = record_in(rows, row, in_look);
    if (!record) return std::nullopt;
    return *std::move(record);
  }
  if (state == "removed") return Vacant{Vacancy::absent, {}};
  const auto vacancy = parse_vacancy(state);
  if (!vacancy) return std::nullopt;
  return Vacant{*vacancy, {static_cast<std::uint64_t>(*term)}};
}

std::optional<Inspection> inspection_in(const Rows& rows, std::size_t row) {
  if (rows.empty()) {
    Inspection nobody;
    nobody.vacancy = Vacancy::absent;
    return nobody;
  }
  const auto seen = observed_in(rows, row);
  const auto term = rows.number(row, 5);
  if (!seen || !term) return std::nullopt;
  Inspection inspection;
  inspection.last_term = {static_cast<std::uint64_t>(*term)};
  if (const auto* const record = std::get_if<Record>(&*seen)) {
    // By the clock that judges it: who is asked for was silent for a whole lease.
    const bool is_over = record->renewed && record->server_time &&
                         *record->server_time - *record->renewed >= record->lease;
    if (is_over) inspection.vacancy = Vacancy::expired;
    if (!is_over) inspection.leader = *record;
  }
  if (const auto* const vacant = std::get_if<Vacant>(&*seen)) inspection.vacancy = vacant->vacancy;
  if (std::holds_alternative<Ended>(*seen)) {
    inspection.ended = true;
    inspection.vacancy = parse_vacancy(word_in(rows, row, 2));
  }
  return inspection;
}

conclave::Answer removed_in(const Rows& rows, const std::string& where) {
  if (rows.empty()) return Gone{};
  const auto word = word_in(rows, 0, 0);
  if (word == "done") return Done{};
  if (word == "gone") return Gone{};
  if (word == "held") {
    return Refused{{ErrorCode::invalid_state, "the election is held: end it first, then remove it",
                    false, false}};
  }
  if (word == "believed") {
    return Refused{{ErrorCode::invalid_state,
                    "the last holder of the election may not have heard of its end: try again "
                    "when its lease is over",
                    true, false}};
  }
  return Unknown{nonsense(where)};
}

}  // namespace conclave::postgres
