#include "stores/postgres/postgres_store.hpp"

#include <limits>
#include <utility>

#include <conclave/names.hpp>

#include "stores/postgres/answers.hpp"
#include "stores/postgres/postgres_calls.hpp"
#include "stores/postgres/shape.hpp"
#include "stores/postgres/texts.hpp"

namespace conclave::postgres {
namespace {

// More in one statement would keep others from their rows.
constexpr std::size_t bids_at_a_time = 1000;

Traits traits_of(const Settings& settings, bool is_adopted) {
  Traits traits;
  const bool by_clock = settings.mode == PostgresMode::lease || settings.strict;
  traits.judge = by_clock ? LeaseJudge::server : LeaseJudge::session;
  traits.terms = settings.tables ? TermStrength::survives_wipe : TermStrength::survives_data;
  traits.pushes = !is_adopted;
  traits.reports_age = true;
  return traits;
}

std::optional<Error> check_bid(const Bid& bid) {
  if (auto error = check_election_name(bid.election)) return error;
  if (auto error = check_candidate_id(bid.candidate)) return error;
  if (auto error = check_metadata(bid.metadata)) return error;
  if (bid.highest_term_seen.value >= std::numeric_limits<std::int64_t>::max()) {
    return invalid_argument(
        "highest_term_seen is the greatest number there is: no term is above it");
  }
  return std::nullopt;
}

}  // namespace

PostgresStore::PostgresStore(std::shared_ptr<net::AsioLoop> loop,
                             std::shared_ptr<const Settings> settings,
                             std::shared_ptr<PGconn> adopted)
    : loop_(std::move(loop)),
      settings_(std::move(settings)),
      tables_(settings_->schema, settings_->prefix),
      is_adopted_(adopted != nullptr),
      traits_(traits_of(*settings_, is_adopted_)),
      verbs_(settings_->tables ? verbs_on(tables_, traits_.judge == LeaseJudge::server)
                               : verbs_on_locks(micros(settings_->lease))),
      home_(*loop_, settings_, tables_,
            {.lost = [this](const Error& why) { is_lost(why); },
             .led = [this] { return attempts_led(); }},
            std::move(adopted)),
      own_side_(is_adopted_ ? nullptr : make_side()),
      side_(own_side_ != nullptr ? *own_side_ : home_.session()),
      calls_(*loop_, [this] { return given_up(home_.where()); }) {}

PostgresStore::~PostgresStore() = default;

std::string PostgresStore::channel(std::string_view election) const {
  return channel_of(tables_.election, election);
}

void PostgresStore::cancel(Operation operation) {
  const auto election = ears_.cancel(operation);
  if (!election) return calls_.give_up(operation);
  courtesies_.erase(*election);
  pauses_.erase(*election);
  leave_if_idle();
  if (!side_.is_established()) return;
  to_hear_.insert(*election);
  look_next();
}

// What is said of an earlier term changes nothing.
bool PostgresStore::is_led_no_more(const std::string& election, const Attempt& attempt,
                                   std::optional<Term> term) {
  const auto led = led_.find(election);
  if (led == led_.end() || led->second.attempt != attempt) return false;
  if (term && led->second.term != *term) return false;
  led_.erase(led);
  return true;
}

std::vector<std::string> PostgresStore::attempts_led() const {
  std::vector<std::string> attempts;
  attempts.reserve(led_.size());
  for (const auto& [election, led] : led_) attempts.push_back(to_text(led.attempt));
  return attempts;
}

// The last one here has gone, and perhaps the process will, too.
void PostgresStore::leave_if_idle() {
  if (ears_.is_empty() && led_.empty() && bids_.empty() && !bidding_ && leaving_ == 0) {
    home_.close_life();
  }
}

// ---------------------------------------------------------------- campaign

// A place that was told to be free is asked for at once.
Operation PostgresStore::campaign(Bid bid, std::function<void(CampaignAnswer)> done) {
  if (auto error = check_bid(bid))
    return calls_.reply(std::move(done), CampaignAnswer{Refused{*std::move(error)}});
  auto call = calls_.begin<CampaignAnswer>(std::move(done));
  const Operation operation = call->operation;
  const bool hurries = released_ == bid.election && bids_.empty() && !bidding_;
  bids_.push_back({std::move(bid), std::move(call), now(), false});
  hurries ? this->bid() : bid_soon();
  return operation;
}

// Those of one moment travel together, and so do those that come while others are on their way.
void PostgresStore::bid_soon() {
  if (bidding_ || bids_.empty() || std::exchange(bid_planned_, true)) return;
  loop_->post(calls_.while_alive([this] {
    bid_planned_ = false;
    bid();
  }));
}

void PostgresStore::bid() {
  if (bidding_) return;
  std::vector<Standing> some;
  std::set<std::string> names;
  std::deque<Standing> later;
  for (Standing& each : std::exchange(bids_, {})) {
    if (!each.call->is_open()) continue;
    // One statement changes a row once: another bid for the same election waits for the next.
    const std::size_t most = settings_->tables ? bids_at_a_time : 1;
    const bool fits = some.size() < most && !names.contains(each.bid.election);
    if (!fits) {
      later.push_back(std::move(each));
      continue;
    }
    some.push_back(std::move(each));
    names.insert(some.back().bid.election);
  }
  bids_ = std::move(later);
  if (some.empty()) return;
  bidding_ = true;
  const bool was_told = std::exchange(released_, {}) == some.front().bid.election;
  const bool is_released = was_told && some.size() == 1 && !verbs_.take_released.empty();
  home_.prepare(calls_.while_alive(
      [this, is_released, some = std::move(some)](const std::optional<Error>& failed) mutable {
        has_home_ = !failed;
        if (!failed) return bid_together(std::move(some), is_released);
        bidding_ = false;
        waiters_.clear();
        const auto alive = calls_.alive();
        for (const Standing& each : some) {
          calls_.answer(each.call, CampaignAnswer{Unknown{*failed}});
          if (alive.expired()) return;
        }
        bid_soon();
      }));
}

Statement PostgresStore::together(const std::vector<Standing>& some) const {
  Array names, attempts, candidates, metadata, floors, terms, stamps, expected, channels;
  for (const auto& [bid, call, since, found_no_tables] : some) {
    names.add(bid.election);
    attempts.add(to_text(bid.attempt));
    candidates.add(bid.candidate);
    metadata.add(bid.metadata);
    floors.add(static_cast<std::int64_t>(bid.highest_term_seen.value));
    const auto& unchanged = bid.seen.unchanged;
    using Number = std::optional<std::int64_t>;
    terms.add(unchanged ? Number(static_cast<std::int64_t>(unchanged->term.value)) : Number());
    stamps.add(unchanged ? Number(static_cast<std::int64_t>(unchanged->stamp)) : Number());
    const auto& server = bid.seen.expected_server_time;
    // The server's clock has gone on while the bid stood in line here; for long it does not.
    const Duration waited = std::min(now() - since, settings_->lease / 4);
    expected.add(server ? Number(micros(server->time_since_epoch() + waited)) : Number());
    channels.add(channel(bid.election));
  }
  return often(
      verbs_.campaign,
      {names.text(), attempts.text(), candidates.text(), metadata.text(), floors.text(),
       terms.text(), stamps.text(), expected.text(), std::to_string(home_.life()), home_.kind(),
       std::to_string(micros(settings_->lease)), channels.text(), home_.backend()});
}

Statement PostgresStore::for_released(const Bid& bid) const {
  return often(verbs_.take_released,
               {bid.election, to_text(bid.attempt), bid.candidate, bid.metadata,
                std::to_string(bid.highest_term_seen.value), std::to_string(home_.life()),
                std::to_string(micros(settings_->lease)), home_.kind(), home_.backend()});
}

void PostgresStore::bid_together(std::vector<Standing> some, bool is_released) {
  auto statement = is_released ? for_released(some.front().bid) : together(some);
  home_.send(std::move(statement), calls_.while_alive([this, is_released, some = std::move(some)](
                                                          const Result<Delivered>& answer) mutable {
    bidding_ = false;
    const bool is_taken = is_released && answer && answer->rows.empty();
    const bool is_lost =
        !is_released && answer && !answer->rows.empty() && has_lost_life(answer->rows, 17);
    if (is_lost) home_.lose_life();
    if (!is_released && answer && answer->rows.empty() && home_.backend()) {
      const auto alive = calls_.alive();
      tell(some, home_.shared());  // nothing is executed elsewhere
      if (!alive.expired()) home_.leave(home_.shared());
      return;
    }
    if (is_taken) return was_outrun(some.front());
    // They are made anew, or what keeps them from it is told.
    const bool is_bare = !answer && has_no_tables(answer.error()) &&
                         !std::exchange(some.front().found_no_tables, true);
    if (is_lost || is_bare) {  // nothing was granted: once more
      bids_.insert(bids_.begin(), some.begin(), some.end());
      return bid_soon();
    }
    const auto alive = calls_.alive();
    tell(some, answer);
    if (is_released && answer && !alive.expired()) {
      tell_others(some.front().bid.election, answer->rows);
    }
  }));
}

// Somebody else was quicker, or something else is the matter: a bid finds out what, but not while
// who has won waits for the disk.
void PostgresStore::was_outrun(const Standing& bidder) {
  if (!bidder.call->is_open()) return bid_soon();
  const Duration pause = pause_before(bidder.bid.election, head_start);
  const auto alive = calls_.alive();
  calls_.answer(bidder.call, CampaignAnswer{Held{.look_again_in = pause}});
  if (!alive.expired()) bid_soon();
}

// Kept only where places are given back.
void PostgresStore::has_leader(const std::string& election, const std::string& leader, Term term) {
  const auto found = courtesies_.find(election);
  if (found != courtesies_.end()) found->second.has_led(leader, term);
}

// Who does not hear it, finds it out by a bid.
void PostgresStore::tell_others(const std::string& election, const Rows& granted) {
  const std::string* const term = granted.text(0, 2);
  if (term == nullptr || !side_.is_established()) return;
  side_.send({std::string(postgres::tell), {channel(election), "held " + *term + " " + election}},
             [](const Result<Delivered>&) {});
}

void PostgresStore::tell(const std::vector<Standing>& some, const Result<Delivered>& answer) {
  std::map<std::string_view, std::size_t> rows;
  for (std::size_t i = 0; answer && i < answer->rows.size(); ++i) {
    if (const auto* const name = answer->rows.text(i, 0)) rows.emplace(*name, i);
  }
  const auto alive = calls_.alive();
  for (const auto& [bid, call, since, found_no_tables] : some) {
    const auto row = rows.find(bid.election);
    const bool may_hold =
        answer ? answer->replication_cancelled || !call->is_open() : answer.error().in_doubt;
    if (may_hold) in_doubt_.insert(bid.attempt);
    if (!answer) {
      calls_.answer(call, CampaignAnswer{Unknown{answer.error()}});
    } else if (row == rows.end()) {
      calls_.answer(call, CampaignAnswer{Unknown{nonsense(home_.where())}});
    } else if (call->is_open()) {
      calls_.answer(call, answered(bid, *answer, row->second));
    }
    if (alive.expired()) return;
  }
  bid_soon();
}

CampaignAnswer PostgresStore::answered(const Bid& bid, const Delivered& answer, std::size_t row) {
  const std::string* const word = answer.rows.text(row, 1);
  if (auto error = refusal_in(word, bid.election)) {
    in_doubt_.erase(bid.attempt);
    return Refused{*std::move(error)};
  }
  if (answer.replication_cancelled) return Unknown{not_replicated(home_.where())};
  const Duration age = home_.age_at(now());
  if (auto granted = granted_in(answer, row)) {
    in_doubt_.erase(bid.attempt);
    granted->server_age = age;
    pauses_.erase(bid.election);
    has_leader(bid.election, bid.candidate, granted->term);
    led_[bid.election] = {bid.attempt, granted->term, home_.life()};
    ears_.waits(bid.election, bid.candidate, false);
    return *granted;
  }
  auto held = held_in(answer.rows, row, settings_->lease);
  if (!held) return Unknown{nonsense(home_.where())};
  held->server_age = age;
  ears_.waits(bid.election, bid.candidate, true);
  if (!held->record) held->look_again_in = pause_before(bid.election, held->look_again_in);
  // Nobody waits for the holder's lock: a bid finds out whether it is free.
  if (is_adopted_ && traits_.judge == LeaseJudge::session) {
    held->look_again_in = std::min(held->look_again_in, settings_->lease / 4);
  }
  if (held->record) {
    in_doubt_.erase(bid.attempt);
    pauses_.erase(bid.election);
    has_leader(bid.election, held->record->leader, held->record->term);
    ears_.note_holder(bid.election, life_in(answer.rows, row, 16, 15), held->record->term, now());
    watch_lives();
  }
  return *held;
}

// A row is in somebody's hands for a moment, or for as long as the leader's fence is open.
Duration PostgresStore::pause_before(const std::string& election, Duration first) {
  Duration& pause = pauses_[election];
  pause = std::max(first, std::min(2 * pause, settings_->lease / 32));
  return pause;
}

// ---------------------------------------------------------------- administer

Operation PostgresStore::inspect(std::string election, std::function<void(InspectAnswer)> done) {
  if (auto error = check_election_name(election))
    return calls_.reply(std::move(done), InspectAnswer{Refused{*std::move(error)}});
  Array names;
  names.add(election);
  return ask<InspectAnswer>(side_, std::move(done), {verbs_.look, {names.text(), own_life()}},
                            [this, election](const Delivered& answer) -> InspectAnswer {
                              if (is_newer(answer.rows, 0)) return Refused{newer(election)};
                              auto inspection = inspection_in(answer.rows, 0);
                              if (!inspection) return Unknown{nonsense(home_.where())};
                              return *std::move(inspection);
                            });
}

void PostgresStore::look_for_site(const net::CallPtr<InspectAnswer>& call) {
  side_.send(look_around(tables_, *settings_),
             calls_.while_alive([this, call](const Result<Delivered>& answer) {
               if (!answer) return calls_.answer(call, InspectAnswer{Unknown{answer.error()}});
               const auto why = hindrance(site_in(answer->rows), *settings_);
               leave_if_idle();  // before whoever is told ends the life of this
               calls_.answer(
                   call, why ? InspectAnswer{Unknown{*why}} : InspectAnswer{*inspection_in({}, 0)});
             }));
}

std::optional<Error> PostgresStore::check_kept(const std::string& election) const {
  if (auto error = check_election_name(election)) return error;
  if (settings_->tables) return std::nullopt;
  return Error{
      ErrorCode::unsupported,
      "tables: without them nothing is kept of an election that could be ended or removed: "
      "stop its candidates",
      false, false};
}

Operation PostgresStore::end(std::string election, std::function<void(conclave::Answer)> done) {
  if (auto error = check_kept(election))
    return calls_.reply(std::move(done), conclave::Answer{Refused{*std::move(error)}});
  const std::string told = channel(election);
  return ask<conclave::Answer>(home_, std::move(done), {text(postgres::end), {election, told}},
                               [election](const Delivered& answer) -> conclave::Answer {
                                 if (answer.rows.empty()) return Gone{};
                                 if (auto no = refusal_in(answer.rows.text(0, 0), election))
                                   return Refused{*std::move(no)};
                                 return Done{};
                               });
}

Operation PostgresStore::remove(std::string election, Remains remains,
                                std::function<void(conclave::Answer)> done) {
  if (auto error = check_kept(election))
    return calls_.reply(std::move(done), conclave::Answer{Refused{*std::move(error)}});
  return ask<conclave::Answer>(
      home_, std::move(done),
      {text(postgres::remove), {election, remains == Remains::trace ? "trace" : "nothing"}},
      [this, election](const Delivered& answer) -> conclave::Answer {
        if (auto no = refusal_in(answer.rows.text(0, 0), election)) return Refused{*std::move(no)};
        return removed_in(answer.rows, home_.where());
      });
}

}  // namespace conclave::postgres
