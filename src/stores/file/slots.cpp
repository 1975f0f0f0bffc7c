#include "stores/file/slots.hpp"

#include <algorithm>

#include "stores/file/bytes.hpp"

namespace conclave::file {
namespace {

// The header of every piece: magic, format, length of what the checksum covers, checksum.
constexpr std::size_t magic_size = 8;
constexpr std::size_t checksum_at = 16;
constexpr std::size_t header_size = 20;

constexpr std::string_view slot_magic = "CONCLAVE";
constexpr std::string_view mark_magic = "CLV-MARK";
constexpr std::string_view ending_magic = "CLV-ENDS";
constexpr std::string_view reserve_magic = "CLV-RSRV";

std::uint32_t checksum(std::span<const std::byte> piece, std::size_t length) {
  // Over everything but itself.
  std::array<std::byte, slot_size> copy{};
  std::copy_n(piece.begin(), length, copy.begin());
  std::fill_n(copy.begin() + checksum_at, sizeof(std::uint32_t), std::byte{0});
  return crc32c(std::span(copy).first(length));
}

// Writes the header in front of what `body` writes.
template <typename Body>
void write_piece(std::span<std::byte> piece, std::string_view magic, Body body) {
  Writer writer(piece.subspan(header_size));
  body(writer);
  const std::size_t length = header_size + writer.at();
  Writer header(piece);
  header.text(magic);
  header.number(format_version);
  header.number(static_cast<std::uint32_t>(length));
  Writer(piece.subspan(checksum_at)).number(checksum(piece, length));
}

struct Piece {
  std::uint32_t format = 0;
  std::span<const std::byte> body{};
};

// Nothing when it was never written, torn, or overwritten by something else.
std::optional<Piece> find_piece(std::span<const std::byte> bytes, std::string_view magic) {
  Reader reader(bytes);
  if (reader.text(magic_size) != magic) return std::nullopt;
  const auto format = reader.number<std::uint32_t>();
  const auto length = reader.number<std::uint32_t>();
  const auto expected = reader.number<std::uint32_t>();
  if (length < header_size || length > bytes.size()) return std::nullopt;
  if (checksum(bytes, length) != expected) return std::nullopt;
  return Piece{format, bytes.subspan(header_size, length - header_size)};
}

bool is_blank(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte each) { return each == std::byte{}; });
}

std::optional<Slot> decode_slot(std::span<const std::byte> body) {
  Reader reader(body);
  Slot slot;
  slot.sequence = reader.number<std::uint64_t>();
  slot.term.value = reader.number<std::uint64_t>();
  slot.attempt.high = reader.number<std::uint64_t>();
  slot.attempt.low = reader.number<std::uint64_t>();
  slot.lease = Duration{reader.number<std::int64_t>()};
  slot.own_lease = Duration{reader.number<std::int64_t>()};
  slot.previous_lease = Duration{reader.number<std::int64_t>()};
  slot.granted_at = reader.number<std::int64_t>();
  slot.process = reader.number<std::int32_t>();
  const auto state = reader.number<std::uint8_t>();
  const auto granted_on = reader.number<std::uint8_t>();
  slot.settled = reader.number<std::uint8_t>() != 0;
  const auto election = reader.number<std::uint16_t>();
  const auto candidate = reader.number<std::uint16_t>();
  const auto metadata = reader.number<std::uint16_t>();
  slot.election = reader.text(election);
  slot.candidate = reader.text(candidate);
  slot.metadata = reader.text(metadata);
  if (reader.overran() || state > static_cast<std::uint8_t>(State::removed) ||
      granted_on > static_cast<std::uint8_t>(Vacancy::ended)) {
    return std::nullopt;
  }
  slot.state = State{state};
  slot.granted_on = Vacancy{granted_on};
  return slot;
}

MarkKind decode_mark(const Image& image, const Slot& slot) {
  const auto piece = find_piece(std::span(image).subspan(mark_offset, mark_size), mark_magic);
  if (!piece || slot.state != State::granted) return MarkKind::none;
  Reader reader(piece->body);
  const Term term{reader.number<std::uint64_t>()};
  Attempt attempt;
  attempt.high = reader.number<std::uint64_t>();
  attempt.low = reader.number<std::uint64_t>();
  const auto kind = reader.number<std::uint8_t>();
  const bool fits = term == slot.term && attempt == slot.attempt &&
                    kind <= static_cast<std::uint8_t>(MarkKind::abandoned);
  return fits ? MarkKind{kind} : MarkKind::none;
}

bool decode_ending(const Image& image) {
  const auto piece = find_piece(std::span(image).subspan(ending_offset, mark_size), ending_magic);
  return piece && Reader(piece->body).number<std::uint8_t>() != 0;
}

Error unsupported(const std::string& where, std::uint32_t format) {
  return {ErrorCode::unsupported,
          where + " has format " + std::to_string(format) +
              ", and this version of Conclave knows " + std::to_string(format_version) +
              ": upgrade every program that uses the directory",
          false, false};
}

Error corrupt(const std::string& where) {
  return {ErrorCode::corrupt,
          where +
              " is damaged, no state in it is whole: restore it from a backup, or, when no "
              "candidate of this election runs, delete it; terms go on by the wall clock then",
          false, false};
}

Error foreign(const std::string& where, const Slot& slot) {
  return {ErrorCode::corrupt,
          where + " belongs to the election \"" + slot.election +
              "\": it was copied, or the file system does not tell capital letters from small "
              "ones; move it away, or choose another directory",
          false, false};
}

}  // namespace

SlotBytes encode(const Slot& slot) {
  SlotBytes bytes{};
  write_piece(bytes, slot_magic, [&](Writer& writer) {
    writer.number(slot.sequence);
    writer.number(slot.term.value);
    writer.number(slot.attempt.high);
    writer.number(slot.attempt.low);
    writer.number(std::int64_t{slot.lease.count()});
    writer.number(std::int64_t{slot.own_lease.count()});
    writer.number(std::int64_t{slot.previous_lease.count()});
    writer.number(slot.granted_at);
    writer.number(slot.process);
    writer.number(static_cast<std::uint8_t>(slot.state));
    writer.number(static_cast<std::uint8_t>(slot.granted_on));
    writer.number(static_cast<std::uint8_t>(slot.settled ? 1 : 0));
    writer.number(static_cast<std::uint16_t>(slot.election.size()));
    writer.number(static_cast<std::uint16_t>(slot.candidate.size()));
    writer.number(static_cast<std::uint16_t>(slot.metadata.size()));
    writer.text(slot.election);
    writer.text(slot.candidate);
    writer.text(slot.metadata);
  });
  return bytes;
}

MarkBytes encode_mark(const Slot& of, MarkKind kind) {
  MarkBytes bytes{};
  write_piece(bytes, mark_magic, [&](Writer& writer) {
    writer.number(of.term.value);
    writer.number(of.attempt.high);
    writer.number(of.attempt.low);
    writer.number(static_cast<std::uint8_t>(kind));
  });
  return bytes;
}

MarkBytes encode_ending(bool ended) {
  MarkBytes bytes{};
  write_piece(bytes, ending_magic,
              [&](Writer& writer) { writer.number(static_cast<std::uint8_t>(ended ? 1 : 0)); });
  return bytes;
}

MarkBytes encode_reserve(const Reserve& reserve) {
  MarkBytes bytes{};
  write_piece(bytes, reserve_magic, [&](Writer& writer) {
    writer.number(reserve.sequence);
    writer.number(reserve.term.value);
    writer.number(reserve.boot.high);
    writer.number(reserve.boot.low);
  });
  return bytes;
}

Reserve decode_reserve(const Image& image) {
  Reserve newest;
  for (const std::uint64_t each : {0U, 1U}) {
    const auto bytes = std::span(image).subspan(reserve_offset(each), mark_size);
    const auto piece = find_piece(bytes, reserve_magic);
    if (!piece) continue;
    Reader reader(piece->body);
    Reserve found;
    found.sequence = reader.number<std::uint64_t>();
    found.term.value = reader.number<std::uint64_t>();
    found.boot.high = reader.number<std::uint64_t>();
    found.boot.low = reader.number<std::uint64_t>();
    if (!reader.overran() && found.sequence >= newest.sequence) newest = found;
  }
  return newest;
}

Image fresh_image(std::string_view election) {
  Image image{};
  Slot slot;
  slot.election = election;
  const SlotBytes bytes = encode(slot);
  std::copy(bytes.begin(), bytes.end(), image.begin() + slot_offset(slot.sequence));
  return image;
}

Result<Content> decode(const Image& image, std::string_view election, const std::string& where) {
  std::optional<Slot> newest;
  bool torn = false;
  for (const std::uint64_t each : {0U, 1U}) {
    const auto bytes = std::span(image).subspan(slot_offset(each), slot_size);
    const auto piece = find_piece(bytes, slot_magic);
    if (piece && piece->format > format_version) return unsupported(where, piece->format);
    auto slot = piece ? decode_slot(piece->body) : std::nullopt;
    torn = torn || (!slot && !is_blank(bytes));
    if (slot && (!newest || slot->sequence > newest->sequence)) newest = *std::move(slot);
  }
  if (!newest) return corrupt(where);
  if (newest->election != election) return foreign(where, *newest);
  Content content;
  content.slot = *std::move(newest);
  content.mark = decode_mark(image, content.slot);
  content.ended = decode_ending(image);
  content.reserve = decode_reserve(image);
  content.torn = torn;
  return content;
}

}  // namespace conclave::file
