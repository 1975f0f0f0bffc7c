// One election: its record, its queue, and the rules by which the place is handed out. Pure: the
// time comes with every call, and what others should hear is handed back as news.
#pragma once

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
  std::optional<Observation> for_all;
  std::optional<std::string> turn_of;  // the candidate that is first in line
};

class Election {
 public:
  CampaignAnswer campaign(const Bid& bid, Duration lease, Moment moment, News& news);
  RenewAnswer renew(const Renewal& renewal, Moment moment, News& news);
  Answer resign(const Resignation& resignation, Moment moment, News& news);
  Answer end(News& news);
  Answer remove(Moment moment);

  [[nodiscard]] Observation present(Instant now) const;
  [[nodiscard]] Inspection inspect(Instant now) const;

  // For how long that standing bid is still held back in favour of those before it; nothing when
  // it does not stand or the place is taken.
  [[nodiscard]] std::optional<Duration> held_back(const Bid& bid, Instant now) const;

  // Forgets everything, the trace too.
  void wipe() { *this = Election{}; }

 private:
  enum class State { held, released, abandoned };

  struct Entry {
    Record record;
    State state{};
    Vacancy granted_on{};  // what the holder found, and is told again when it repeats its bid
    Duration previous_lease{};
    Duration own_lease{};  // the record's may be longer, see Record::lease
    Instant until;
    Instant vacated;  // since when it is not held any more
  };

  // The holder of a term that was ended, then removed: it may not have heard of it yet.
  struct Believer {
    Instant until;
    Duration lease{};
  };

  [[nodiscard]] std::optional<Vacancy> vacancy(const Bid& bid, Instant now) const;
  [[nodiscard]] Duration hold_back(std::uint32_t before, Instant now) const;
  [[nodiscard]] Record shown(Instant now) const;
  Granted grant(const Bid& bid, Duration lease, Vacancy vacancy, Moment moment, News& news);
  Granted grant_again(Moment moment, News& news);
  Held stand(const Bid& bid, Duration lease, Instant now);
  void extend(Moment moment, News& news);
  void vacate(State state, Instant now, News& news);

  std::optional<Entry> entry_;
  std::optional<Believer> believer_;
  Queue queue_;
  Term last_term_;
  bool ended_ = false;
};

}  // namespace conclave::memory
