#include "stores/file/file_store.hpp"

#include <stdexcept>

#include <conclave/file.hpp>
#include <conclave/names.hpp>

#include "stores/file/directory.hpp"

namespace conclave {
namespace file {
namespace {

Traits traits_of(const News& news) {
  Traits traits;
  traits.judge = LeaseJudge::session;
  traits.terms = TermStrength::survives_wipe;
  traits.pushes = news.pushes();
  return traits;
}

Error given_up() {
  return {ErrorCode::cancelled, "the call was given up before its answer came", true, true};
}

std::optional<Error> check_names(const Bid& bid) {
  if (auto error = check_election_name(bid.election)) return error;
  if (auto error = check_candidate_id(bid.candidate)) return error;
  return check_metadata(bid.metadata);
}

Granted grant_of(const Slot& slot, Instant since) {
  return {slot.term, since, slot.own_lease, slot.granted_on, slot.previous_lease, std::nullopt};
}

Inspection inspection_of(const Look& look) {
  Inspection inspection;
  if (!look.content) {
    inspection.vacancy = Vacancy::absent;
    return inspection;
  }
  inspection.last_term = look.content->slot.term;
  inspection.ended = look.content->ended;
  if (look.held() && !look.content->ended) {
    inspection.leader = record_of(look.content->slot);
  } else {
    inspection.vacancy = shown_vacancy(*look.content);
  }
  return inspection;
}

}  // namespace

FileStore::FileStore(const std::shared_ptr<net::AsioLoop>& loop, std::string directory,
                     Duration lease)
    : loop_(loop),
      directory_(std::move(directory)),
      lease_(lease),
      news_(*loop, seats_, {directory_, lease}),
      turns_(loop) {
  traits_ = traits_of(news_);
}

// ---------------------------------------------------------------- calls and answers

// Carries the call out in its turn, unless it was given up by then.
template <typename Answered, typename Act>
Operation FileStore::begin(const std::string& election, std::function<void(Answered)> done,
                           Act act) {
  auto call = std::make_shared<Call<Answered>>();
  call->operation = ++last_operation_;
  call->done = std::move(done);
  calls_.emplace(call->operation, [this, call] { answer(call, Answered{Unknown{given_up()}}); });
  const Operation operation = call->operation;
  turns_.run(election, [call = std::move(call), act = std::move(act)] {
    if (!call->answered) act(call);
  });
  return operation;
}

template <typename Answered>
void FileStore::answer(const CallPtr<Answered>& call, Answered with) {
  if (call->answered) return;
  call->answered = true;
  loop_->post([call, with = std::move(with), alive = std::weak_ptr(alive_)]() mutable {
    if (!alive.expired()) call->done(std::move(with));
  });
  calls_.erase(call->operation);
}

template <typename Done, typename Answered>
Operation FileStore::reply(Done done, Answered with) {
  loop_->post(
      [done = std::move(done), with = std::move(with), alive = std::weak_ptr(alive_)]() mutable {
        if (!alive.expired()) done(std::move(with));
      });
  return ++last_operation_;
}

void FileStore::cancel(Operation operation) {
  news_.cancel(operation);
  const auto call = calls_.find(operation);
  if (call == calls_.end()) return;
  const Task give_up = call->second;
  give_up();
}

// ---------------------------------------------------------------- campaign

Operation FileStore::campaign(Bid bid, std::function<void(CampaignAnswer)> done) {
  if (auto error = check_names(bid)) return reply(std::move(done), Refused{*std::move(error)});
  const std::string election = bid.election;
  return begin<CampaignAnswer>(
      election, std::move(done),
      [this, bid = std::move(bid)](const CallPtr<CampaignAnswer>& call) { this->bid(bid, call); });
}

// Most bids find somebody else there, and open nothing for writing to see it.
void FileStore::bid(const Bid& bid, const CallPtr<CampaignAnswer>& call) {
  const Instant sent = now();
  const Seat* const seat = seats_.find(bid.election);
  if (seat != nullptr && seat->carries(bid.attempt, std::nullopt)) {
    return answer(call, granted_again(bid, *seat, sent));
  }
  // Who was told that the place is free shall not look again before he takes it.
  if (!news_.seems_free(bid.election)) {
    const auto look = place(bid.election).look();
    if (!look) return answer(call, CampaignAnswer{Refused{look.error()}});
    if (look->content && look->content->ended) {
      return answer(call, CampaignAnswer{Refused{election_ended(bid.election)}});
    }
    if (look->locked && !seats_.is_spent(bid.attempt)) {
      return answer(call, CampaignAnswer{held(*look)});
    }
  }
  if (seats_.is_spent(bid.attempt)) {
    return answer(call, CampaignAnswer{Refused{attempt_is_over()}});
  }
  const auto tell = [this, bid, sent, call](Take take) {
    answer(call, taken(bid, sent, std::move(take)));
    news_.look(bid.election);
  };
  const Place at = place(bid.election);
  Take take = at.take(bid, lease_, MayWait::no);
  if (!std::holds_alternative<WouldWait>(take)) return tell(std::move(take));
  turns_.at_disk(
      bid.election, [at, bid, lease = lease_] { return at.take(bid, lease, MayWait::yes); }, tell);
}

// Also when the call was given up meanwhile: then the attempt will be resigned.
CampaignAnswer FileStore::taken(const Bid& bid, Instant sent, Take take) {
  if (const auto* error = std::get_if<Error>(&take)) return Refused{*error};
  if (const auto* look = std::get_if<Look>(&take)) {
    if (look->content->ended) return Refused{election_ended(bid.election)};
    return held(*look);
  }
  auto& seat = std::get<Seat>(take);
  const Granted granted = grant_of(seat.slot(), sent);
  seats_.put(bid.election, std::move(seat));
  return granted;
}

// The answer to a bid whose first reply was lost: the same term, counted from now.
CampaignAnswer FileStore::granted_again(const Bid& bid, const Seat& seat, Instant sent) {
  const auto lost = place(bid.election).check(seat);
  if (!lost) return Unknown{lost.error()};
  if (!*lost) return grant_of(seat.slot(), sent);
  seats_.drop(bid.election, seat.slot().term);
  if (**lost == LossReason::election_ended) return Refused{election_ended(bid.election)};
  return Refused{attempt_is_over()};
}

Held FileStore::held(const Look& look) const {
  Held held;
  if (look.held()) {
    held.record = record_of(look.content->slot);
  } else {
    // Somebody comes or goes this instant; the news of it will be quicker.
    held.look_again_in = lease_ / 10;
  }
  return held;
}

// ---------------------------------------------------------------- renew and resign

Operation FileStore::renew(std::vector<Renewal> due,
                           std::function<void(std::size_t, RenewAnswer)> done) {
  const auto shared =
      std::make_shared<std::function<void(std::size_t, RenewAnswer)>>(std::move(done));
  for (std::size_t i = 0; i < due.size(); ++i) {
    loop_->post(
        [this, shared, i, each = due[i], with = renewed(due[i]), alive = std::weak_ptr(alive_)] {
          if (alive.expired()) return;
          (*shared)(i, with);
          // First the holder knows, then the place is free.
          if (alive.expired() || !std::holds_alternative<TermLost>(with)) return;
          const Seat* const seat = seats_.find(each.election);
          if (seat != nullptr && seat->carries(each.attempt, each.term)) {
            seats_.drop(each.election, each.term);
          }
        });
  }
  return ++last_operation_;
}

RenewAnswer FileStore::renewed(const Renewal& renewal) {
  if (auto error = check_election_name(renewal.election)) return Refused{*std::move(error)};
  const Instant sent = now();
  Seat* const seat = seats_.find(renewal.election);
  if (seat == nullptr || !seat->carries(renewal.attempt, renewal.term)) return not_held(renewal);
  const auto lost = place(renewal.election).check(*seat);
  if (!lost) return Unknown{lost.error()};
  if (*lost) return TermLost{**lost};
  if (renewal.valid) seat->settle();
  return Renewed{sent};
}

RenewAnswer FileStore::not_held(const Renewal& renewal) const {
  const auto look = place(renewal.election).look();
  if (!look) return Unknown{look.error()};
  if (!look->content) return TermLost{LossReason::record_gone};
  if (look->content->ended) return TermLost{LossReason::election_ended};
  const bool later = look->content->slot.term > renewal.term;
  return TermLost{later ? LossReason::superseded : LossReason::record_gone};
}

Operation FileStore::resign(Resignation resignation, std::function<void(Answer)> done) {
  const std::string election = resignation.election;
  return begin<Answer>(election, std::move(done),
                       [this, resignation = std::move(resignation)](const CallPtr<Answer>& call) {
                         answer(call, resigned(resignation));
                         news_.look(resignation.election);
                       });
}

Answer FileStore::resigned(const Resignation& resignation) {
  const Seat* const seat = seats_.find(resignation.election);
  if (seat != nullptr && seat->carries(resignation.attempt, resignation.term)) {
    seats_.leave(resignation.election,
                 resignation.was_valid ? MarkKind::released : MarkKind::abandoned);
    return Done{};
  }
  const bool of_the_seat = seat != nullptr && seat->carries(resignation.attempt, std::nullopt);
  if (!of_the_seat) seats_.spend(resignation.attempt);
  return Gone{};
}

// ---------------------------------------------------------------- observe and administer

Operation FileStore::observe(std::string election, std::string candidate, Sink sink) {
  const Operation operation = ++last_operation_;
  news_.observe(operation, std::move(election), std::move(candidate), std::move(sink));
  return operation;
}

Operation FileStore::inspect(std::string election, std::function<void(InspectAnswer)> done) {
  if (auto error = check_election_name(election)) return reply(std::move(done), Refused{*error});
  return begin<InspectAnswer>(
      election, std::move(done), [this, at = place(election)](const CallPtr<InspectAnswer>& call) {
        const auto look = at.look();
        answer(call, look ? InspectAnswer{inspection_of(*look)} : Refused{look.error()});
      });
}

Operation FileStore::end(std::string election, std::function<void(Answer)> done) {
  return at_disk(election, std::move(done), &Place::end);
}

Operation FileStore::remove(std::string election, Remains remains,
                            std::function<void(Answer)> done) {
  return at_disk(election, std::move(done),
                 remains == Remains::trace ? &Place::remove : &Place::purge);
}

Operation FileStore::at_disk(const std::string& election, std::function<void(Answer)> done,
                             Answer (Place::*work)() const) {
  if (auto error = check_election_name(election)) return reply(std::move(done), Refused{*error});
  return begin<Answer>(election, std::move(done), [=, this](const CallPtr<Answer>& call) {
    turns_.at_disk(
        election, [at = place(election), work] { return (at.*work)(); },
        [=, this](Answer with) {
          answer(call, std::move(with));
          news_.look(election);
        });
  });
}

Operation FileStore::check(std::function<void(CheckAnswer)> done) {
  auto findings = check_directory(directory_);
  if (!findings) return reply(std::move(done), Refused{findings.error()});
  auto all = *std::move(findings);
  if (!traits_.pushes) {
    all.push_back({Severity::warning, "file:" + directory_,
                   "the kernel had no inotify instance left: followers look once a lease instead "
                   "of being woken",
                   "raise fs.inotify.max_user_instances, and open the store again"});
  }
  return reply(std::move(done), std::move(all));
}

}  // namespace file

std::shared_ptr<Store> make_file_store(FileOptions options) {
  TimingOptions timing;
  timing.lease = options.lease;
  if (const auto refused = resolve_timing(timing); !refused) {
    throw std::invalid_argument(refused.error().message);
  }
  auto directory = file::prepare_directory(std::move(options.directory), options.force);
  if (!directory) throw std::invalid_argument(directory.error().message);
  const auto loop = net::given_or_new(options.loop);
  return keep_with_loop(
      loop, std::make_shared<file::FileStore>(loop, *std::move(directory), options.lease));
}

}  // namespace conclave
