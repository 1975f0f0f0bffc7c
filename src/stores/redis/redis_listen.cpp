// What the server tells, and who is told of it here.
#include <algorithm>

#include "stores/redis/keys.hpp"
#include "stores/redis/redis_calls.hpp"

namespace conclave::redis {
namespace {

constexpr std::size_t looks_at_a_time = 50;

}  // namespace

Operation RedisStore::observe(std::string election, std::string candidate, Sink sink) {
  const Operation operation = calls_.number();
  const std::string record = key(election);
  const Spot* const known = spots_.find(record);
  const bool first = known == nullptr || !known->is_heard();
  const bool listens = known != nullptr && known->listens;
  spots_.listen(record, operation, candidate, std::move(sink));
  if (inbox_) {
    inbox_->open();
    if (first) inbox_->subscribe(news_channel(record));
  }
  // The first look comes when we listen, so that nothing is missed in between.
  if (hearing_ == Hearing::no || listens) look_soon(record);
  return operation;
}

// The inbox comes last: when it is open, all is.
std::vector<std::string> RedisStore::wanted_channels() const {
  std::vector<std::string> channels;
  spots_.for_each([&](const std::string& record, const Spot& spot) {
    if (spot.is_heard()) channels.push_back(news_channel(record));
    if (spot.is_led()) channels.push_back(leader_channel(record, settings_.lease));
  });
  channels.push_back(inbox_id_);
  return channels;
}

void RedisStore::is_hearing(const std::string& channel) {
  if (const auto record = record_of_news(channel)) {
    if (Spot* const spot = spots_.find(*record)) spot->listens = true;
    return look_soon(std::string(*record));
  }
  if (channel != inbox_id_) return;
  hearing_ = Hearing::yes;
  refusal_.reset();
  told_of_refusal_.clear();
  const auto alive = calls_.alive();
  for (const Task& each : std::exchange(until_sure_, {})) {
    if (alive.expired()) return;
    each();
  }
  if (alive.expired() || !std::exchange(stood_deaf_, false)) return;
  // Bids that stand without an inbox are to be repeated with one.
  std::vector<std::string> records;
  spots_.for_each([&](const std::string& record, const Spot&) { records.push_back(record); });
  for (const std::string& each : records) {
    if (!alive.expired()) spots_.tell(each, YourTurn{});
  }
}

// Nobody will be told of anything. What is asked for now is at least looked at.
void RedisStore::is_deaf() {
  if (std::exchange(hearing_, Hearing::no) == Hearing::no) return;
  spots_.for_each([&](const std::string& record, const Spot& spot) {
    if (spot.is_heard()) look_soon(record);
  });
  const auto alive = calls_.alive();
  for (const Task& each : std::exchange(until_sure_, {})) {
    if (alive.expired()) return;
    each();
  }
}

void RedisStore::is_refused(const Error& why) {
  if (refusal_ != why) told_of_refusal_.clear();
  refusal_ = why;
  is_deaf();
}

void RedisStore::heard(const std::string& channel, const std::string& letter) {
  if (channel == inbox_id_) {
    const auto mail = letter_in(letter);
    if (!mail) return;
    if (mail->turn_of) return spots_.tell_turn(mail->record, *mail->turn_of);
    return spots_.tell(mail->record, *mail->vacant);
  }
  const auto record = record_of_news(channel);
  const auto news = record ? news_in(letter) : std::nullopt;
  if (news) spots_.tell(std::string(*record), *news);
}

// ---------------------------------------------------------------- leading

// Whoever finds no record can ask whether somebody listens as its leader.
void RedisStore::leads(const std::string& record, const Bid& bid) {
  Spot& spot = spots_.at(record);
  const bool already = spot.is_led();
  spot.led = bid.attempt;
  spot.metadata =
      bid.metadata.empty() ? nullptr : std::make_unique<const std::string>(bid.metadata);
  if (inbox_ && !already) inbox_->subscribe(leader_channel(record, settings_.lease));
}

void RedisStore::leads_no_more(const std::string& record, const Attempt& attempt) {
  Spot* const spot = spots_.find(record);
  if (spot == nullptr || spot->led != attempt) return;
  spot->led = {};
  spot->metadata.reset();
  spots_.drop_if_idle(record);
  if (inbox_) inbox_->unsubscribe(leader_channel(record, settings_.lease));
}

// ---------------------------------------------------------------- looks

// Those of one moment travel together.
void RedisStore::look_soon(const std::string& record) {
  to_look_.insert(record);
  if (std::exchange(look_planned_, true)) return;
  loop_->post(calls_.while_alive([this] { look(); }));
}

// After a failure. However many fail, one timer is enough.
void RedisStore::look_later(const std::vector<std::string>& records) {
  to_look_.insert(records.begin(), records.end());
  if (std::exchange(look_planned_, true)) return;
  loop_->post_at(now() + settings_.request_timeout, calls_.while_alive([this] { look(); }));
}

void RedisStore::look() {
  look_planned_ = false;
  const auto records = std::exchange(to_look_, {});
  std::vector<std::string> some;
  for (const std::string& each : records) {
    if (spots_.find(each) != nullptr) some.push_back(each);
    if (some.size() == looks_at_a_time) look_at(std::exchange(some, {}));
  }
  if (!some.empty()) look_at(some);
}

void RedisStore::look_at(const std::vector<std::string>& records) {
  commands_->prepare(calls_.while_alive([=, this](const std::optional<Error>& failed) {
    if (failed) return look_later(records);
    Command keys;
    for (const std::string& each : records) {
      keys.push_back(each);
      keys.push_back(metadata_key(each));
    }
    commands_->run(redis::look, keys, {},
                   calls_.while_alive([=, this](const Result<Delivered>& answer) {
                     const auto* const found = answer ? elements_in(answer->reply) : nullptr;
                     if (found == nullptr || found->size() != records.size())
                       return look_later(records);
                     const auto alive = calls_.alive();
                     for (std::size_t i = 0; i < records.size() && !alive.expired(); ++i) {
                       if (const auto seen = looked_in((*found)[i])) spots_.tell(records[i], *seen);
                     }
                   }));
  }));
}

}  // namespace conclave::redis
