#include "stores/file/place.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "stores/file/names.hpp"

namespace conclave::file {
namespace {

// How often a file that is replaced under our hands is opened anew.
constexpr int most_tries = 8;

std::int64_t wall_clock() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

Error replaced(const std::string& path) {
  return {ErrorCode::unavailable,
          path + " is replaced again and again: find out by whom, and leave it alone", true, false};
}

Error may_believe() {
  return {ErrorCode::invalid_state,
          "the last term of the election waited for one before it, whose holder may not have "
          "heard: let "
          "somebody lead and step down once more, then remove it",
          false, false};
}

}  // namespace

// ---------------------------------------------------------------- a seat

Seat::Seat(net::Descriptor lock, Identity identity, Slot slot)
    : lock_(std::move(lock)),
      identity_(identity),
      slot_(std::move(slot)),
      settled_(slot_.settled) {}

bool Seat::carries(const Attempt& attempt, std::optional<Term> term) const noexcept {
  return slot_.attempt == attempt && (!term || slot_.term == *term);
}

std::optional<LossReason> Seat::lost_by(const Look& look) const noexcept {
  if (!look.content || look.identity != identity_) return LossReason::record_gone;
  if (look.content->ended) return LossReason::election_ended;
  const Slot& found = look.content->slot;
  if (found.term == slot_.term && found.attempt == slot_.attempt) return std::nullopt;
  return found.term > slot_.term ? LossReason::superseded : LossReason::record_gone;
}

void Seat::settle() {
  if (settled_) return;
  settled_ = write_at(lock_.get(), encode_mark(slot_, MarkKind::settled), mark_offset) == 0;
}

void Seat::leave(MarkKind mark) {
  static_cast<void>(write_at(lock_.get(), encode_mark(slot_, mark), mark_offset));
  // The mark has woken those who wait: they shall find the place free. Closing alone would wake
  // them again, and unlock only after that.
  unlock(lock_.get());
  lock_.reset();
}

// ---------------------------------------------------------------- a place

Place::Place(const std::string& directory, std::string election)
    : path_(directory + "/" + relative_path(election)), election_(std::move(election)) {}

Result<Content> Place::read(int descriptor) const {
  Result<Content> content = Content{};
  Image image{};
  // Between two states that are written while we read, both slots may look torn.
  for (int tries = 0; tries < most_tries; ++tries) {
    const auto size = read_at(descriptor, image);
    if (!size) return system_error("cannot be read", path_, errno);
    if (*size < file_size) image = {};  // it had its full size from the beginning
    content = decode(image, election_, path_);
    if (content || content.error().code != ErrorCode::corrupt) return content;
  }
  if (auto trace = recovered(image, election_, this_boot())) return *std::move(trace);
  return content;
}

// First the content, then the lock: a term that was read and whose lock is free is over. The other
// way round, somebody might have come in between.
Result<Look> Place::look_through(int descriptor) const {
  auto content = read(descriptor);
  if (!content) return content.error();
  const auto locked = is_locked(descriptor, path_);
  if (!locked) return locked.error();
  Look look;
  look.content = *std::move(content);
  look.identity = identity_of(descriptor).value_or(Identity{});
  look.locked = *locked;
  return look;
}

Result<Look> Place::look() const {
  const auto file = open_file(path_, O_RDONLY);
  if (!file) return file.error();
  if (!*file) return Look{};
  return look_through(file->get());
}

Result<std::optional<LossReason>> Place::check(const Seat& seat) const {
  Look look;
  const auto identity = identity_of(path_);
  const int failed = identity ? 0 : errno;
  if (failed != 0 && failed != ENOENT && failed != ENOTDIR) {
    return system_error("cannot be looked at", path_, failed);
  }
  if (identity) {
    auto content = read(seat.descriptor());
    if (!content) return content.error();
    look.content = *std::move(content);
    look.identity = *identity;
  }
  return seat.lost_by(look);
}

Take Place::take(const Bid& bid, Duration lease, MayWait may_wait) const {
  for (int tries = 0; tries < most_tries; ++tries) {
    auto file = open_file(path_, O_RDWR);
    if (!file) return file.error();
    if (!*file) {
      if (may_wait == MayWait::no) return WouldWait{};
      if (auto error = create_file(path_, fresh_image(election_))) return *error;
      continue;
    }
    const auto locked = try_lock(file->get(), path_);
    if (!locked) return locked.error();
    if (!*locked) {
      auto look = look_through(file->get());
      if (!look) return look.error();
      return *std::move(look);
    }
    const auto identity = identity_of(file->get());
    if (identity && identity == identity_of(path_)) {
      return sit(*std::move(file), *identity, bid, lease, may_wait);
    }
  }
  return replaced(path_);
}

// With the lock in hand.
Take Place::sit(net::Descriptor file, Identity identity, const Bid& bid, Duration lease,
                MayWait may_wait) const {
  auto content = read(file.get());
  if (!content) return content.error();
  const Boot boot = this_boot();
  if (auto error = refusal(*content, bid, boot)) return *error;
  Slot slot = granted_slot(*content, bid, {lease, wall_clock(), ::getpid(), boot});
  if (!is_reserved(*content, slot.term, boot)) {
    if (may_wait == MayWait::no) return WouldWait{};
    if (auto error = reserve(file.get(), next_reserve(*content, slot.term), boot)) return *error;
  }
  const int failed = write_at(file.get(), encode(slot), slot_offset(slot.sequence));
  if (failed != 0) return system_error("cannot be written", path_, failed);
  return Seat(std::move(file), identity, std::move(slot));
}

// It counts from the moment that it carries the boot: a sync that failed is tried again.
std::optional<Error> Place::reserve(int descriptor, Reserve reserve, const Boot& boot) const {
  const std::size_t offset = reserve_offset(reserve.sequence);
  if (auto error = write(descriptor, encode_reserve(reserve), offset)) return error;
  reserve.boot = boot;
  const int failed = write_at(descriptor, encode_reserve(reserve), offset);
  if (failed == 0) return std::nullopt;
  return system_error("cannot be written", path_, failed);
}

std::optional<Error> Place::write(int descriptor, std::span<const std::byte> bytes,
                                  std::size_t offset) const {
  int failed = write_at(descriptor, bytes, offset);
  if (failed == 0 && ::fdatasync(descriptor) != 0) failed = errno;
  if (failed == 0) return std::nullopt;
  return system_error("cannot be written", path_, failed);
}

Answer Place::end() const {
  const auto file = open_file(path_, O_RDWR);
  if (!file) return Refused{file.error()};
  if (!*file) return Gone{};
  const auto content = read(file->get());
  if (!content) return Refused{content.error()};
  if (content->ended) return Done{};
  if (content->slot.state != State::granted) return Gone{};
  // The holder need not be asked: nobody else writes here, and the writing wakes all who watch.
  if (auto error = write(file->get(), encode_ending(true), ending_offset)) return Refused{*error};
  return Done{};
}

// With the lock in hand, so that nobody takes the place meanwhile.
Answer Place::when_free(const std::function<Answer(int, const Content&)>& act) const {
  const auto file = open_file(path_, O_RDWR);
  if (!file) return Refused{file.error()};
  if (!*file) return Gone{};
  const auto locked = try_lock(file->get(), path_);
  if (!locked) return Refused{locked.error()};
  const auto content = read(file->get());
  if (!content) return Refused{content.error()};
  if (*locked) return act(file->get(), *content);
  return Refused{{ErrorCode::invalid_state,
                  "the election is held by \"" + content->slot.candidate + "\" (process " +
                      std::to_string(content->slot.process) +
                      "): end it, and remove it when its holder has heard",
                  true, false}};
}

Answer Place::remove() const {
  return when_free([this](int file, const Content& content) -> Answer {
    if (content.slot.state != State::granted && !content.ended) return Gone{};
    const Slot trace = removed_slot(content);
    if (auto error = write(file, encode(trace), slot_offset(trace.sequence))) {
      return Refused{*error};
    }
    if (auto error = write(file, encode_ending(false), ending_offset)) return Refused{*error};
    return Done{};
  });
}

Answer Place::purge() const {
  return when_free([this](int file, const Content& content) -> Answer {
    // The lock is free: only somebody for whom the last term was itself waiting may believe.
    if (found_vacancy(content, Term{}) == Vacancy::abandoned) return Refused{may_believe()};
    if (identity_of(file) != identity_of(path_)) return Refused{replaced(path_)};
    if (::unlink(path_.c_str()) == 0) return Done{};
    return Refused{system_error("cannot be deleted", path_, errno)};
  });
}

}  // namespace conclave::file
