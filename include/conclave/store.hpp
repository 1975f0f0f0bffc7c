// The contract that every store fulfils, and that a store of your own would.
//
// A store keeps elections. It does not decide who leads: it hands out a place under a guard,
// reports what it found there, and the core decides from when the grant is valid. Candidates use
// five verbs: campaign, renew, resign, observe, inspect. Those who administer have end, remove and
// check.
//
// Rules for an implementation
//
//  1. Calls come on executor(), and every answer is given there: never inside the call, and exactly
//     once, also after cancel() (then as Unknown, unless the true answer is quicker).
//  2. No verb waits for another candidate. A campaign for a place that is taken answers Held at
//  once.
//  3. Every request ends by itself or by cancel(); a server that hangs must not hang the caller.
//  4. A request that may or may not have been executed answers Unknown, never "lost".
//  5. What carries an old term or a foreign attempt changes nothing.
//  6. `since` is the caller's clock just before the request was sent from which whoever judges the
//     lease counts. A store that cannot tell says an earlier instant, never a later one.
//  7. A wake-up is only a hint; the campaign that follows is the truth.
//  8. Names that check_election_name() and its siblings in conclave/names.hpp refuse are Refused.
//  9. A record that a renewal wrote anew is marked `abandoned` when it is resigned, never
//  `released`.
// 10. Where calls share a session, they do not overtake each other.
// 11. A repeated grant is a new version, and no version ever comes back, also not after the store
//     has lost its data: others take a version that stays for one that nobody renews.
// 12. `done` and a sink may own the store, and end its life: hold on to nothing of it after calling
//     them.
// 13. Nothing throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <conclave/error.hpp>
#include <conclave/executor.hpp>
#include <conclave/export.hpp>
#include <conclave/role.hpp>
#include <conclave/term.hpp>
#include <conclave/time.hpp>
#include <conclave/timing.hpp>

namespace conclave {

namespace runtime {
class Driver;
}

// ---------------------------------------------------------------- what is stored

// Tells two states of a record apart: every grant and every renewal gives a new version. Where a
// session is the judge, renewals may leave it as it is, since nobody waits for it to grow old.
// `stamp` is the store's own (a revision, a time of renewal); it is compared for equality only.
struct Version {
  Term term{};
  std::uint64_t stamp = 0;

  friend constexpr bool operator==(const Version&, const Version&) noexcept = default;
};

// Who holds the election, as the store knows it.
struct Record {
  std::string leader{};    // candidate id
  std::string metadata{};  // what the leader said of itself, such as its address
  Term term{};
  Attempt attempt{};
  std::uint64_t stamp = 0;
  // What others wait for: the holder's lease. After `absent` or `abandoned` at least the lease of
  // the record before, too: its holder may not be over, and this one may vanish without becoming
  // valid.
  Duration lease{};
  std::optional<ServerTime> renewed{};      // where the server stamps renewals
  std::optional<ServerTime> server_time{};  // the server's clock when it answered
  // When it was granted, by the wall clock of whoever did, where that is kept.
  std::optional<WallTime> granted{};

  [[nodiscard]] Version version() const noexcept { return {term, stamp}; }
};

// ---------------------------------------------------------------- campaign

// What the bidder knows that the store may not: the evidence on which alone an expired record is
// given to somebody else.
struct Seen {
  // The bidder's own clock has seen this very version unchanged for a whole lease of the record.
  std::optional<Version> unchanged{};
  // What the server's clock should say if it has not jumped since a look that is older than the
  // record's last renewal. A server that finds itself later than this by more than a fiftieth of
  // the lease does not trust its own clock, and answers Held.
  std::optional<ServerTime> expected_server_time{};
};

struct Bid {
  std::string election{};
  std::string candidate{};
  Attempt attempt{};
  std::string metadata{};
  Term highest_term_seen{};  // the grant must be above it; a record below it counts as absent
  Seen seen{};
};

// After a vacancy the r-th in line comes (r - 1) times this later than the first.
inline constexpr Duration wake_stagger = std::chrono::milliseconds{20};

// The part of a lease by which a server's clock may have moved without losing its say.
[[nodiscard]] constexpr Duration clock_tolerance(Duration lease) noexcept { return lease / 50; }

// The place is reserved for the bidder. From when it may lead is the core's decision.
struct Granted {
  Term term{};
  Instant since{};
  Duration lease{};   // of this grant; at least the server's floor
  Vacancy vacancy{};  // what was found; kept with the record, so that a repetition says the same
  Duration previous_lease{};  // of the record that was replaced; zero when there was none
  // For how long this server has decided, where a restart can lose what was confirmed before.
  // Stores that lose nothing leave it out.
  std::optional<Duration> server_age{};
};

// Somebody else has it. Where the store keeps a queue, the bid stands in it.
struct Held {
  std::optional<Record> record{};  // none while the place is free, but others may go first
  std::uint32_t place = 0;         // 1 is next in line; 0 where the store keeps no queue
  // When the record would expire by the server's clock; without a record, when to bid again.
  Duration look_again_in{};
  std::optional<Duration> server_age{};
};

// It may have happened or not. Ask again with the same attempt or term.
struct Unknown {
  Error error{};
};

// It did not happen, and a person or time has to change something first.
struct Refused {
  Error error{};
};

using CampaignAnswer = std::variant<Granted, Held, Unknown, Refused>;

// ---------------------------------------------------------------- renew and resign

struct Renewal {
  std::string election{};
  std::string candidate{};
  Term term{};
  Attempt attempt{};
  // The holder believes in its term. A store that writes a vanished record anew does so only then:
  // a reservation that came back to life would not know who was confirmed while it was gone.
  bool valid = true;
};

struct Renewed {
  Instant since{};
};

// The term is over; this is certain. `why` is superseded, record_gone, session_lost or
// election_ended.
struct TermLost {
  LossReason why{};
};

using RenewAnswer = std::variant<Renewed, TermLost, Unknown, Refused>;

// Gives up a term, a standing bid, or an attempt of which nobody knows what became.
struct Resignation {
  std::string election{};
  std::string candidate{};
  Attempt attempt{};
  std::optional<Term> term{};  // where the bidder knows it
  // The term has been valid, and is not any more: the mark `released` lets the next one lead at
  // once. Otherwise the mark is `abandoned`.
  bool was_valid = false;
};

struct Done {};
struct Gone {};  // there was nothing of that name, term or attempt

using Answer = std::variant<Done, Gone, Unknown, Refused>;

// ---------------------------------------------------------------- observe and inspect

// The place has become free: released, abandoned or ended. `term` is the one that was there; where
// there never was one, or nothing is left of it, `vacancy` is absent and `term` is zero. A
// lease that merely ran out is not told: whether it is over, only a bid with evidence can decide.
struct Vacant {
  Vacancy vacancy{};
  Term term{};
};
struct YourTurn {};     // the standing bid is first in line now
struct SessionLost {};  // the session of the present terms and bids is over, and they with it
struct Ended {};        // the election was ended for everybody, for good

using Observation = std::variant<Record, Vacant, YourTurn, SessionLost, Ended>;
using Sink = std::function<void(const Observation&)>;

struct Standing {
  std::string candidate{};
  std::string metadata{};
  std::uint32_t place = 0;
};

struct Inspection {
  std::optional<Record> leader;    // the record, while it is held
  std::optional<Vacancy> vacancy;  // what is there instead
  Term last_term;                  // the highest that the store has granted
  std::vector<Standing> candidates;
  bool ended = false;
};

using InspectAnswer = std::variant<Inspection, Unknown, Refused>;

// Of an election that is removed.
enum class Remains {
  trace,    // what keeps its terms growing, and the memory of a holder that may not have heard
  nothing,  // terms may begin anew, and whoever is fenced by them has to be told
};

// ---------------------------------------------------------------- what a store is

enum class LeaseJudge { server, candidates, session };  // whose clock expires a lease
enum class TermStrength {
  survives_wipe,  // greater even after the store has lost all its data
  survives_data,  // greater as long as the store keeps its data
};

struct Traits {
  LeaseJudge judge{};
  TermStrength terms{};
  bool pushes = false;       // tells of changes; otherwise candidates look
  bool queues = false;       // first come, first served
  bool reports_age = false;  // fills in server_age
  Duration default_lease{std::chrono::seconds{3}};
  Duration lease_floor{};
  Duration lag{};  // how far `since` may lie behind a confirmed renewal
};

// The part of it that matters for the times of an election.
[[nodiscard]] inline TimingLimits timing_limits(const Traits& traits) {
  return {traits.default_lease, traits.lease_floor, traits.lag};
}

enum class Severity { note, warning, danger };

// A setting that would weaken the promise, and what to do about it.
struct Finding {
  Severity severity{};
  std::string setting;
  std::string problem;
  std::string fix;
};

using CheckAnswer = std::variant<std::vector<Finding>, Unknown, Refused>;

// ---------------------------------------------------------------- the verbs

// Names a call in flight; never zero.
using Operation = std::uint64_t;

class CONCLAVE_API Store {
 public:
  virtual ~Store() = default;

  [[nodiscard]] virtual const Traits& traits() const noexcept = 0;
  [[nodiscard]] virtual Duration lease() const noexcept = 0;  // of every grant by this object
  [[nodiscard]] virtual const Clock& clock() const noexcept = 0;
  [[nodiscard]] virtual Executor& executor() noexcept = 0;

  // Bids for the place, or repeats a bid with the same attempt.
  virtual Operation campaign(Bid bid, std::function<void(CampaignAnswer)> done) = 0;

  // Renews the terms that are due together, in as few requests as the store can. `done` is called
  // exactly once for each, with its index.
  virtual Operation renew(std::vector<Renewal> due,
                          std::function<void(std::size_t index, RenewAnswer)> done) = 0;

  virtual Operation resign(Resignation resignation, std::function<void(Answer)> done) = 0;

  // Tells the sink of an election's changes until cancelled. It begins with the present state: the
  // record, Vacant, or Ended. A store that does not push owes only that, and what it happens to
  // learn; whoever observes asks it again by inspect(). A bad name is not refused here but never
  // told of: the campaign that goes with it is.
  virtual Operation observe(std::string election, std::string candidate, Sink sink) = 0;

  virtual Operation inspect(std::string election, std::function<void(InspectAnswer)> done) = 0;

  // Ends an election: the term in it is over, candidates present and late are told Ended. Gone when
  // there is none of that name.
  virtual Operation end(std::string election, std::function<void(Answer)> done) = 0;

  // Removes what an election left behind. Refused while somebody holds it. Without a trace it is
  // also refused as long as somebody may believe in a term that nothing would tell of any more.
  virtual Operation remove(std::string election, Remains remains,
                           std::function<void(Answer)> done) = 0;

  // The settings of this store that would break the promise; what `conclave doctor` prints.
  virtual Operation check(std::function<void(CheckAnswer)> done) = 0;

  // Gives a call up. Its answer still comes, unless it was an observation: that falls silent.
  virtual void cancel(Operation operation) = 0;

 private:
  // What drives the candidates of this object; the runtime makes it for the first of them.
  friend class runtime::Driver;
  std::mutex driver_mutex_;
  std::weak_ptr<runtime::Driver> driver_;
};

}  // namespace conclave
