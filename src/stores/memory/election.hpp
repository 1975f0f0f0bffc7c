// One election: its record, its queue, and the rules by which the place is handed out. Pure: the
// time comes with every call, and what others should hear is handed back as news.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "stores/memory/queue.hpp"

namespace conclave::memory {

// When something happens, and the stamp that tells it from everything else that ever happens in
// the space.
struct Moment {
  Instant now;
  std::uint64_t stamp = 0;
};

struct News {
  bool changed = false;                // all should hear what is present now
  std::optional<std::string> turn_of;  // the candidate that is first in line
};

class Election {
 public:
  CampaignAnswer campaign(const Bid& bid, Duration lease, Moment moment, News& news);
  // Why the term is lost; nothing when it was renewed.
  std::optional<LossReason> renew(const Renewal& renewal, Moment moment, News& news);
  Answer resign(const Resignation& resignation, Moment moment, News& news);
  Answer end(News& news);
  Answer remove(Remains remains, Moment moment);

  [[nodiscard]] Observation present(Instant now) const;
  [[nodiscard]] Inspection inspect(Instant now) const;

  // For how long that standing bid is still held back in favour of those before it; nothing when
  // it does not stand or the place is taken.
  [[nodiscard]] std::optional<Duration> held_back(const Bid& bid, Instant now) const;

  // Forgets everything, the trace too.
  void wipe() { *this = Election{}; }

 private:
  enum class State : std::uint8_t { absent, held, released, abandoned };

  Answer purge(Moment moment);
  [[nodiscard]] Error is_held() const;
  [[nodiscard]] bool vacated() const {
    return state_ == State::released || state_ == State::abandoned;
  }
  [[nodiscard]] std::optional<Vacancy> vacancy(const Bid& bid, Instant now) const;
  [[nodiscard]] Duration hold_back(std::uint32_t before, Instant now) const;
  [[nodiscard]] Record shown(Instant now) const;
  Granted grant(const Bid& bid, Duration lease, Vacancy vacancy, Moment moment, News& news);
  Granted grant_again(Moment moment, News& news);
  Held stand(const Bid& bid, Duration lease, Instant now);
  void extend(Moment moment, News& news);
  void vacate(State state, Instant now, News& news);

  // A process may have a hundred thousand of these. So the record is kept in parts: what of it
  // follows from others, or is hardly ever there, takes no room.
  std::string leader_;
  std::unique_ptr<const std::string> metadata_;  // none when empty
  Attempt attempt_;
  Term last_term_;  // the record's, while there is one; afterwards the trace
  std::uint64_t stamp_ = 0;
  // Both outlive the record of a term that was ended, then removed: its holder may not have heard
  // of it yet.
  Instant until_ = Instant::min();
  Duration lease_{};
  Duration own_lease_{};  // the record's may be longer, see Record::lease
  Duration previous_lease_{};
  Queue queue_;
  Vacancy granted_on_{};  // what the holder found, and is told again when it repeats its bid
  State state_{};
  bool ended_ = false;  // on top of what the record says
};

}  // namespace conclave::memory
