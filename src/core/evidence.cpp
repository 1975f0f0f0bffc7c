#include "core/evidence.hpp"

namespace conclave::core {

void Evidence::answered(const Record& record, Instant received) {
  observed(record, received);
  if (looks_->answered != record.version()) {
    // Whatever was seen before this version is older than the renewal that made it. A look at the
    // version itself would not do: the server's clock may have jumped between renewal and look.
    looks_->predating = looks_->latest;
    looks_->answered = record.version();
  }
  looks_->latest.reset();
  if (record.server_time) looks_->latest = Look{received, *record.server_time};
}

void Evidence::observed(const Record& record, Instant received) {
  if (!looks_) looks_ = std::make_unique<Looks>();
  if (looks_->version != record.version()) {
    looks_->version = record.version();
    looks_->first_shown = received;
  }
  lease_ = record.lease;
}

void Evidence::clear() noexcept { looks_.reset(); }

Seen Evidence::at(Instant now) const noexcept {
  Seen seen;
  if (!looks_) return seen;
  if (now >= looks_->first_shown + lease_) seen.unchanged = looks_->version;
  // From the reply's arrival to the next send: the shortest time that can have passed at the
  // server. So both round trips count against it, and a late message proves nothing.
  if (const auto& look = looks_->predating) {
    // An old one proves less: that the clock was set back meanwhile, and forward again after the
    // renewal, would not show.
    const bool is_fresh = now - look->received <= 3 * lease_;
    if (is_fresh) seen.expected_server_time = look->server_time + (now - look->received);
  }
  return seen;
}

std::optional<Instant> Evidence::ripe_at() const noexcept {
  if (!looks_) return std::nullopt;
  return looks_->first_shown + lease_;
}

}  // namespace conclave::core
