#include "conformance/conformance.hpp"

#include <mutex>

namespace conclave::conformance {
namespace {

// Carries one answer from the store's executor to the test.
template <typename Answered>
struct Box {
  std::mutex mutex;
  std::optional<Answered> content;

  void put(Answered answer) {
    const std::scoped_lock lock(mutex);
    EXPECT_FALSE(content) << "a call was answered twice";
    content = std::move(answer);
  }
  bool full() {
    const std::scoped_lock lock(mutex);
    return content.has_value();
  }
};

}  // namespace

std::string Conformance::trouble_of(const Member& member) {
  return member->id() + ": " + member->last<core::Failed>().value_or(core::Failed{}).error.message;
}

void Conformance::TearDown() {
  if (const auto found = contradiction()) ADD_FAILURE() << *found;
}

void Conformance::on(Store& store, const std::function<void()>& what) {
  const auto ran = std::make_shared<Box<bool>>();
  store.executor().post([&fixture = *fixture_, ran, what] {
    what();
    ran->put(true);
    fixture.changed();
  });
  EXPECT_TRUE(run_until([ran] { return ran->full(); }));
}

template <typename Answered, typename Call>
Answered Conformance::answer(Store& store, Call call) {
  const auto box = std::make_shared<Box<Answered>>();
  on(store, [&, box] {
    call([&fixture = *fixture_, box](Answered answered) {
      box->put(std::move(answered));
      fixture.changed();
    });
  });
  EXPECT_TRUE(run_until([box] { return box->full(); })) << "a call was not answered";
  return box->content.value_or(Answered{Unknown{}});
}

CampaignAnswer Conformance::campaign(Store& store, const Bid& bid) {
  return answer<CampaignAnswer>(store, [&](auto done) { store.campaign(bid, done); });
}

Granted Conformance::granted(Store& store, const Bid& bid) {
  const CampaignAnswer answered = campaign(store, bid);
  const auto* grant = std::get_if<Granted>(&answered);
  EXPECT_NE(grant, nullptr) << bid.candidate << " was not granted the place"
                            << (std::holds_alternative<Unknown>(answered)
                                    ? ": " + std::get<Unknown>(answered).error.message
                                    : "");
  return grant != nullptr ? *grant : Granted{};
}

Held Conformance::held(Store& store, const Bid& bid) {
  const CampaignAnswer answered = campaign(store, bid);
  const auto* busy = std::get_if<Held>(&answered);
  EXPECT_NE(busy, nullptr) << bid.candidate << " was not told that the place is held";
  return busy != nullptr ? *busy : Held{};
}

RenewAnswer Conformance::renew(Store& store, const Renewal& renewal) {
  return answer<RenewAnswer>(store, [&](auto done) {
    store.renew({renewal}, [done](std::size_t, RenewAnswer each) { done(std::move(each)); });
  });
}

std::vector<RenewAnswer> Conformance::renew_all(Store& store, const std::vector<Renewal>& due) {
  const auto answers = std::make_shared<std::vector<RenewAnswer>>(due.size());
  const auto count = std::make_shared<std::size_t>(0);
  on(store, [&] {
    store.renew(due, [this, answers, count](std::size_t index, RenewAnswer answer) {
      (*answers)[index] = std::move(answer);
      *count += 1;
      fixture().changed();
    });
  });
  EXPECT_TRUE(run_until([&] { return *count == due.size(); }));
  return *answers;
}

Answer Conformance::resign(Store& store, const Resignation& resignation) {
  return answer<Answer>(store, [&](auto done) { store.resign(resignation, done); });
}

Inspection Conformance::inspect(Store& store, const std::string& election) {
  const auto answered =
      answer<InspectAnswer>(store, [&](auto done) { store.inspect(election, done); });
  const auto* found = std::get_if<Inspection>(&answered);
  EXPECT_NE(found, nullptr);
  return found != nullptr ? *found : Inspection{};
}

Answer Conformance::end(Store& store, const std::string& election) {
  return answer<Answer>(store, [&](auto done) { store.end(election, done); });
}

Answer Conformance::remove(Store& store, const std::string& election, Remains remains) {
  return answer<Answer>(store, [&](auto done) { store.remove(election, remains, done); });
}

Bid Conformance::bid(const std::string& candidate, std::uint64_t attempt) {
  return {"election", candidate, Attempt{7, attempt}, "info of " + candidate, {}, {}};
}

Renewal Conformance::renewal(const Bid& bid, Term term) {
  return {bid.election, bid.candidate, term, bid.attempt};
}

Resignation Conformance::resignation(const Bid& bid, std::optional<Term> term, bool was_valid) {
  return {bid.election, bid.candidate, bid.attempt, term, was_valid};
}

Conformance::Member Conformance::make(const std::string& id, CandidateOptions options) {
  return make_on(std::make_shared<FaultyStore>(connect()), id, std::move(options));
}

Conformance::Member Conformance::make_on(const std::shared_ptr<FaultyStore>& store,
                                         const std::string& id, CandidateOptions options) {
  options.seed = next_seed_++;
  if (options.metadata.empty()) options.metadata = "info of " + id;
  Member member;
  member.faults = store;
  member.candidate = std::make_unique<TestCandidate>(*fixture_, history_, store, "election", id,
                                                     std::move(options));
  return member;
}

Conformance::Member Conformance::join(const std::string& id, CandidateOptions options) {
  Member member = make(id, std::move(options));
  member->start();
  EXPECT_TRUE(run_until([&] { return member->role() == Role::follower || member->leads(); }))
      << trouble_of(member);
  return member;
}

bool Conformance::until_leads(const Member& member) {
  return run_until([&] { return member->leads(); });
}

void Conformance::stop_one_leader_after_the_other(const std::vector<Member>& members) {
  for (std::size_t stopped = 0; stopped < members.size(); ++stopped) {
    const auto leader = [&] {
      return std::find_if(members.begin(), members.end(),
                          [](const Member& m) { return m->leads(); });
    };
    ASSERT_TRUE(run_until([&] { return leader() != members.end(); }));
    const Member& current = *leader();
    current->stop();
    ASSERT_TRUE(until_stopped(current));
  }
  EXPECT_EQ(leaders().size(), members.size());
}

bool Conformance::until_stopped(const Member& member) {
  return run_until([&] {
    return member->role() == Role::stopped && !member->leads() &&
           member->count<core::HasStopped>() > 0;
  });
}

}  // namespace conclave::conformance
