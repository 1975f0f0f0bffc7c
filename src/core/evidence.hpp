// What a candidate has seen of the holder's record, and what it proves.
//
// An expired record is taken over only on evidence, and there are two kinds. The candidate's own
// clock has seen one version unchanged for a whole lease: then the holder, who counts on four
// fifths, is over. Or the server says expired, and its clock has demonstrably not jumped since
// before the holder's last renewal: then too, and without waiting. Two opposite jumps look like
// none; so whoever sets the clock back should leave it so for three leases.
#pragma once

#include <memory>
#include <optional>

#include <conclave/store.hpp>

namespace conclave::core {

class Evidence {
 public:
  // The reply to a campaign showed this record. `received` is the own clock when it arrived.
  void answered(const Record& record, Instant received);

  // An observation showed it. It may be older than what a reply has shown, so it says nothing about
  // the server's clock; for the own eyes it only begins the wait anew.
  void observed(const Record& record, Instant received);

  // The place is vacant: there is no holder to know anything of. The lease is remembered, since a
  // holder that the store forgot still counts on it.
  void clear() noexcept;

  // What to put into a bid that is sent now.
  [[nodiscard]] Seen at(Instant now) const noexcept;

  // When the own clock will have seen the present version for a whole lease.
  [[nodiscard]] std::optional<Instant> ripe_at() const noexcept;

  // The lease of the record seen last, the one to wait for; zero when none was seen.
  [[nodiscard]] Duration lease() const noexcept { return lease_; }

 private:
  struct Look {
    Instant received;
    ServerTime server_time;
  };

  // Only while another one holds the place: most leaders have seen nobody, and there may be many.
  struct Looks {
    std::optional<Version> version;
    Instant first_shown;
    std::optional<Version> answered;  // what the latest reply showed
    std::optional<Look> latest;       // that reply
    std::optional<Look> predating;    // the latest reply that showed another version than it
  };

  std::unique_ptr<Looks> looks_;
  Duration lease_{};
};

}  // namespace conclave::core
