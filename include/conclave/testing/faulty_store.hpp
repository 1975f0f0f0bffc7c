// A store that misbehaves on demand: to see what your program does when its store does not answer.
//
//   auto faulty = std::make_shared<FaultyStore>(make_memory_store(...));
//
//   faulty->next(Verb::renew, Fault::lose_reply());  // the next renewal is executed, nobody hears
//   faulty->next(Verb::campaign, Fault::refuse(error));
//   faulty->partition();                             // nothing gets through any more
//   faulty->heal();
//   faulty->randomly(42, Odds{.lose_reply = 0.1, .delay_reply = 0.2, .longest_delay = 1s});
//
// It wraps any store and keeps its contract whatever the faults: every call is answered on the
// executor, never inline, exactly once. What is never answered by itself is answered with Unknown
// when it is cancelled. The same seed gives the same faults.
//
// An observation has no request and no reply. The faults of Verb::observe meet what the sink is
// told, one piece of news each: delays delay it, a duplicate tells it twice, all others drop it.
#pragma once

#include <memory>

#include <conclave/export.hpp>
#include <conclave/store.hpp>

namespace conclave::testing {

enum class Verb { campaign, renew, resign, observe, inspect, end, remove, check };

// What happens to one call.
struct Fault {
  enum class Kind {
    none,
    lose_request,   // not executed; no answer
    lose_reply,     // executed; no answer
    delay_request,  // executed later; cancelling does not call it back
    delay_reply,    // executed at once, answered later
    duplicate,      // executed at once and answered, then executed again later, unheard
    unknown,        // not executed; answered with Unknown
    refuse,         // not executed; answered with Refused
    hang,           // not executed before heal(), as by a server that was stopped and goes on
  };

  Kind kind = Kind::none;
  Duration delay{};
  Error error;

  [[nodiscard]] static Fault none() { return {}; }
  [[nodiscard]] static Fault lose_request() { return {Kind::lose_request, {}, {}}; }
  [[nodiscard]] static Fault lose_reply() { return {Kind::lose_reply, {}, {}}; }
  [[nodiscard]] static Fault delay_request(Duration by) { return {Kind::delay_request, by, {}}; }
  [[nodiscard]] static Fault delay_reply(Duration by) { return {Kind::delay_reply, by, {}}; }
  [[nodiscard]] static Fault duplicate(Duration after) { return {Kind::duplicate, after, {}}; }
  [[nodiscard]] static Fault unknown(Error why) { return {Kind::unknown, {}, std::move(why)}; }
  [[nodiscard]] static Fault refuse(Error why) { return {Kind::refuse, {}, std::move(why)}; }
  [[nodiscard]] static Fault hang() { return {Kind::hang, {}, {}}; }
};

// How often each fault happens by itself, from 0 to 1; together at most 1. Anything else, and a
// negative delay, throws std::invalid_argument.
struct Odds {
  double lose_request = 0;
  double lose_reply = 0;
  double delay_request = 0;
  double delay_reply = 0;
  double duplicate = 0;
  double unknown = 0;
  double drop_observation = 0;
  Duration longest_delay{std::chrono::milliseconds{500}};  // of delays and duplicates
};

// The calls of Store come on the executor of the store inside, as always; the knobs may be turned
// from any thread.
class CONCLAVE_API FaultyStore final : public Store {
 public:
  explicit FaultyStore(std::shared_ptr<Store> inside);
  ~FaultyStore() override;

  // The next call of that verb meets this fault. Several wait in line, one for each call. They come
  // before the random ones.
  void next(Verb verb, Fault fault);

  // From now on faults happen by themselves, as the seed decides. Odds{} ends it.
  void randomly(std::uint64_t seed, Odds odds);

  // Nothing gets through: requests, replies and observations are lost.
  void partition();

  // Everything waits: requests are executed and replies are told when it is over, in their order.
  void freeze();

  // Ends a partition or a freeze, and what hangs goes on. After a partition or a freeze the
  // observations begin anew with the present state, as after a reconnect. Faults that wait in line
  // and odds stay as they are.
  void heal();

  // How many calls of a verb were made on this object; observations count what was told.
  [[nodiscard]] std::uint64_t count(Verb verb) const;

  const Traits& traits() const noexcept override;
  Duration lease() const noexcept override;
  const Clock& clock() const noexcept override;
  Executor& executor() noexcept override;
  Operation campaign(Bid bid, std::function<void(CampaignAnswer)> done) override;
  Operation renew(std::vector<Renewal> due,
                  std::function<void(std::size_t index, RenewAnswer)> done) override;
  Operation resign(Resignation resignation, std::function<void(Answer)> done) override;
  Operation observe(std::string election, std::string candidate, Sink sink) override;
  Operation inspect(std::string election, std::function<void(InspectAnswer)> done) override;
  Operation end(std::string election, std::function<void(Answer)> done) override;
  Operation remove(std::string election, Remains remains,
                   std::function<void(Answer)> done) override;
  Operation check(std::function<void(CheckAnswer)> done) override;
  void cancel(Operation operation) override;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace conclave::testing
