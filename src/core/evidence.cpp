#include "core/evidence.hpp"

namespace conclave::core {

void Evidence::answered(const Record& record, Instant received) {
  observed(record, received);
  if (answered_ != record.version()) {
    // Whatever was seen before this version is older than the renewal that made it. A look at the
    // version itself would not do: the server's clock may have jumped between renewal and look.
    predating_ = latest_;
    answered_ = record.version();
  }
  latest_.reset();
  if (record.server_time) latest_ = Look{received, *record.server_time};
}

void Evidence::observed(const Record& record, Instant received) {
  if (version_ != record.version()) {
    version_ = record.version();
    first_shown_ = received;
  }
  lease_ = record.lease;
}

void Evidence::clear() noexcept {
  version_.reset();
  answered_.reset();
  latest_.reset();
  predating_.reset();
}

Seen Evidence::at(Instant now) const noexcept {
  Seen seen;
  if (version_ && now >= first_shown_ + lease_) seen.unchanged = version_;
  // From the reply's arrival to the next send: the shortest time that can have passed at the
  // server. So both round trips count against it, and a late message proves nothing.
  if (predating_) {
    seen.expected_server_time = predating_->server_time + (now - predating_->received);
  }
  return seen;
}

std::optional<Instant> Evidence::ripe_at() const noexcept {
  if (!version_) return std::nullopt;
  return first_shown_ + lease_;
}

}  // namespace conclave::core
