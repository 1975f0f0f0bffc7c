#include "stores/redis/replies.hpp"

#include <charconv>

#include "stores/redis/keys.hpp"
#include "stores/redis/trouble.hpp"

namespace conclave::redis {
namespace {

// What is more is nonsense, and sums and multiples of it would not fit into a Duration: the year
// 2223, and more than any lease.
constexpr std::uint64_t latest_micros = 8'000'000'000'000'000;
constexpr std::uint64_t longest_micros = 10'000'000'000'000;

std::optional<std::chrono::microseconds> micros_up_to(std::uint64_t most, std::string_view text) {
  const auto number = parse_number(text);
  if (!number || *number > most) return std::nullopt;
  return std::chrono::microseconds{static_cast<std::int64_t>(*number)};
}

std::optional<std::chrono::microseconds> micros(std::string_view text) {
  return micros_up_to(longest_micros, text);
}

std::optional<ServerTime> server_time(std::string_view text) {
  const auto since = micros_up_to(latest_micros, text);
  return since ? std::optional(ServerTime{*since}) : std::nullopt;
}

std::optional<WallTime> wall_time(std::string_view text) {
  const auto since = micros_up_to(latest_micros, text);
  return since ? std::optional(WallTime{*since}) : std::nullopt;
}

std::optional<Term> term(std::string_view text) {
  const auto number = parse_number(text);
  return number ? std::optional(Term{*number}) : std::nullopt;
}

std::optional<Vacancy> vacancy(std::string_view word) {
  for (const Vacancy each :
       {Vacancy::absent, Vacancy::released, Vacancy::abandoned, Vacancy::expired}) {
    if (word == to_string(each)) return each;
  }
  return std::nullopt;
}

// One text after the other out of an array or a letter. Once something is missing, all of it is.
class Texts {
 public:
  explicit Texts(const RedisReply::Elements& elements, std::size_t from) {
    for (std::size_t i = from; i < elements.size(); ++i) {
      const std::string* const text = text_in(elements[i]);
      if (text == nullptr) break;
      texts_.emplace_back(*text);
    }
  }
  // The last of `count` parts may have lines of its own.
  Texts(std::string_view letter, std::size_t count) {
    while (texts_.size() + 1 < count) {
      const auto end = letter.find('\n');
      if (end == std::string_view::npos) break;
      texts_.push_back(letter.substr(0, end));
      letter.remove_prefix(end + 1);
    }
    texts_.push_back(letter);
  }

  std::string_view next() {
    if (at_ < texts_.size()) return texts_[at_++];
    whole_ = false;
    return {};
  }
  template <typename Value>
  Value next(std::optional<Value> (*parse)(std::string_view)) {
    const auto value = parse(next());
    if (!value) whole_ = false;
    return value.value_or(Value{});
  }
  [[nodiscard]] bool whole() const noexcept { return whole_; }

 private:
  std::vector<std::string_view> texts_;
  std::size_t at_ = 0;
  bool whole_ = true;
};

std::optional<Record> record_in(const RedisReply& reply, ServerTime now) {
  const auto* const elements = elements_in(reply);
  if (elements == nullptr) return std::nullopt;
  Texts texts(*elements, 0);
  Record record;
  record.leader = texts.next();
  record.term = texts.next(term);
  record.attempt = texts.next(parse_attempt);
  record.stamp = texts.next(parse_number);
  record.lease = texts.next(micros);
  record.renewed = texts.next(server_time);
  record.granted = texts.next(wall_time);
  record.metadata = texts.next();
  record.server_time = now;
  return texts.whole() ? std::optional(std::move(record)) : std::nullopt;
}

std::optional<std::uint32_t> place_in(const RedisReply& reply) {
  const auto* const number = std::get_if<std::int64_t>(&reply.value);
  if (number == nullptr || *number < 1 || *number > 1'000'000'000) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

}  // namespace

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

const std::string* text_in(const RedisReply& reply) {
  return std::get_if<std::string>(&reply.value);
}

const RedisReply::Elements* elements_in(const RedisReply& reply) {
  return std::get_if<RedisReply::Elements>(&reply.value);
}

std::string_view word_in(const RedisReply& reply) {
  const auto* const elements = elements_in(reply);
  if (elements == nullptr || elements->empty()) return {};
  const std::string* const word = text_in(elements->front());
  return word != nullptr ? std::string_view(*word) : std::string_view{};
}

Fault fault_in(const RedisReply& reply, const Asked& asked, std::string_view to) {
  const std::string_view word = word_in(reply);
  if (word == "FOREIGN") {
    return {{ErrorCode::corrupt,
             "the key " + asked.key + " at " + asked.where +
                 " holds something that is no election: rename or delete it, or use another prefix",
             false, false},
            true};
  }
  if (word == "NEWER") {
    return {{ErrorCode::unsupported,
             "the election at the key " + asked.key +
                 " was written by a newer version of this library: update this one",
             false, false},
            true};
  }
  return {nonsense_reply(asked.where, to), false};
}

std::optional<Granted> granted_in(const RedisReply& reply, Instant since) {
  if (word_in(reply) != "GRANTED") return std::nullopt;
  Texts texts(*elements_in(reply), 1);
  Granted granted;
  granted.since = since;
  granted.term = texts.next(term);
  granted.lease = texts.next(micros);
  granted.vacancy = texts.next(vacancy);
  granted.previous_lease = texts.next(micros);
  if (!texts.whole() || !granted.term.exists()) return std::nullopt;
  return granted;
}

std::optional<Held> held_in(const RedisReply& reply) {
  const std::string_view word = word_in(reply);
  const auto* const elements = elements_in(reply);
  const bool vanished = word == "VANISHED";
  if ((word != "HELD" && !vanished) || elements->size() < 3) return std::nullopt;
  const auto place = place_in((*elements)[1]);
  Texts texts(*elements, 2);
  Held held;
  held.look_again_in = texts.next(micros);
  if (!place || !texts.whole()) return std::nullopt;
  held.place = *place;
  if (vanished || elements->size() < 5) return held;
  const ServerTime now = texts.next(server_time);
  held.record = record_in((*elements)[4], now);
  if (!held.record || !texts.whole()) return std::nullopt;
  return held;
}

Duration lease_in_vanished(const RedisReply& reply) {
  const auto* const elements = elements_in(reply);
  if (word_in(reply) != "VANISHED" || elements->size() < 4) return Duration::zero();
  Texts texts(*elements, 3);
  return texts.next(micros);
}

std::optional<Observation> looked_in(const RedisReply& reply) {
  const auto* const elements = elements_in(reply);
  const std::string_view state = word_in(reply);
  if (elements == nullptr || elements->size() < 3) return std::nullopt;
  if (state == "ended") return Ended{};
  Texts texts(*elements, 1);
  const ServerTime now = texts.next(server_time);
  const Term last = texts.next(term);
  if (!texts.whole()) return std::nullopt;
  if (state == "absent") return Vacant{};
  if (state == "removed") return Vacant{Vacancy::absent, last};
  if (state == "held") {
    if (elements->size() < 4) return std::nullopt;
    auto record = record_in((*elements)[3], now);
    return record ? std::optional<Observation>(*std::move(record)) : std::nullopt;
  }
  const auto found = vacancy(state);
  return found ? std::optional<Observation>(Vacant{*found, last}) : std::nullopt;
}

std::optional<Inspection> inspection_in(const RedisReply& reply) {
  const auto* const elements = elements_in(reply);
  if (word_in(reply) != "SEEN" || elements->size() < 6) return std::nullopt;
  const std::string* const state = text_in((*elements)[1]);
  const auto* const ended = std::get_if<std::int64_t>(&(*elements)[2].value);
  Texts texts(*elements, 3);
  const ServerTime now = texts.next(server_time);
  Inspection inspection;
  inspection.last_term = texts.next(term);
  const auto* const bids = elements_in((*elements)[5]);
  if (state == nullptr || ended == nullptr || bids == nullptr || !texts.whole())
    return std::nullopt;
  inspection.ended = *ended != 0;
  for (const RedisReply& each : *bids) {
    const auto* const parts = elements_in(each);
    if (parts == nullptr) return std::nullopt;
    Texts bid(*parts, 0);
    Standing standing;
    standing.candidate = bid.next();
    standing.metadata = bid.next();
    standing.place = static_cast<std::uint32_t>(inspection.candidates.size() + 1);
    if (!bid.whole()) return std::nullopt;
    inspection.candidates.push_back(std::move(standing));
  }
  if (*state == "held") {
    if (elements->size() < 7) return std::nullopt;
    inspection.leader = record_in((*elements)[6], now);
    return inspection.leader ? std::optional(std::move(inspection)) : std::nullopt;
  }
  inspection.vacancy = *state == "removed" ? Vacancy::absent : vacancy(*state);
  return inspection.vacancy ? std::optional(std::move(inspection)) : std::nullopt;
}

std::optional<Observation> news_in(std::string_view letter) {
  if (letter == "ended") return Ended{};
  if (letter.starts_with("vacant\n")) {
    Texts texts(letter, 3);
    texts.next();
    Vacant vacant;
    vacant.term = texts.next(term);
    vacant.vacancy = texts.next(vacancy);
    return texts.whole() ? std::optional<Observation>(vacant) : std::nullopt;
  }
  Texts texts(letter, 10);
  if (texts.next() != "record") return std::nullopt;
  Record record;
  record.term = texts.next(term);
  record.attempt = texts.next(parse_attempt);
  record.stamp = texts.next(parse_number);
  record.lease = texts.next(micros);
  record.renewed = texts.next(server_time);
  record.server_time = texts.next(server_time);
  record.granted = texts.next(wall_time);
  record.leader = texts.next();
  record.metadata = texts.next();
  return texts.whole() ? std::optional<Observation>(std::move(record)) : std::nullopt;
}

std::optional<Letter> letter_in(std::string_view text) {
  Letter letter;
  if (text.starts_with("turn\n")) {
    Texts texts(text, 3);
    texts.next();
    letter.record = texts.next();
    letter.turn_of = texts.next();
    return texts.whole() ? std::optional(std::move(letter)) : std::nullopt;
  }
  Texts texts(text, 4);
  if (texts.next() != "vacant") return std::nullopt;
  letter.record = texts.next();
  Vacant vacant;
  vacant.term = texts.next(term);
  vacant.vacancy = texts.next(vacancy);
  letter.vacant = vacant;
  return texts.whole() ? std::optional(std::move(letter)) : std::nullopt;
}

}  // namespace conclave::redis
