// The store over the application's own client: elections, together with the store's own
// connections, and clients that are slow, fail, or lose their server.
#include <atomic>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <thread>

#include <conclave/admin.hpp>

#include "conformance/redis_client_rig.hpp"
#include "conformance/redis_person.hpp"

namespace conclave::conformance {
namespace {

using namespace std::chrono_literals;
using servers::RedisServer;

constexpr Duration lease = 800ms;

std::shared_ptr<Store> given(const RedisServer& server) {
  return make_redis_store(client_of(server), {.lease = lease});
}

// A gate in front of a client: shut, its commands wait.
class Barrier {
 public:
  void shut(bool now) {
    const std::scoped_lock lock(mutex_);
    shut_ = now;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    waiting_ += 1;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !shut_; });
    waiting_ -= 1;
  }
  bool somebody_waits() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, person_hang_guard, [&] { return waiting_ > 0 && shut_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool shut_ = false;
  int waiting_ = 0;
};

TEST(RedisClientStore, HandsOverToTheOtherKindAndBack) {
  const RedisServer server;
  const auto by_client = given(server);
  EXPECT_FALSE(by_client->traits().pushes);
  // Nobody tells it that another leads, so it rests for all that time.
  Person anna(by_client, "anna", std::chrono::seconds{4});
  ASSERT_TRUE(anna.next(EventKind::elected));
  // Until its inbox is there, nobody can call it up, and it looks when a lease is over.
  Person bob(make_redis_store(options_of(server)), "bob", person_hang_guard);
  ASSERT_TRUE(bob.next(EventKind::follower));
  anna->resign();
  ASSERT_TRUE(bob.is_elected());
  const Term first = bob->snapshot().term;
  bob->resign();
  ASSERT_TRUE(anna.next(EventKind::elected));
  EXPECT_GT(anna->snapshot().term.value, first.value);
  EXPECT_TRUE(anna->stop());
  EXPECT_TRUE(bob->stop());
}

TEST(RedisClientStore, WhatTheClientThrowsIsInDoubtAndTold) {
  const RedisServer server;
  const auto broken = std::make_shared<std::atomic<int>>(1);
  const auto client = client_of(server);
  const auto store = make_redis_store(
      [=](const std::vector<std::string>& command) -> RedisReply {
        if (broken->load() == 1) throw std::runtime_error("no route to anywhere");
        if (broken->load() == 2) throw 42;
        return client(command);
      },
      {.lease = lease});
  auto failed = inspect(*store, "election", 60s);
  ASSERT_FALSE(failed);
  EXPECT_TRUE(failed.error().in_doubt && failed.error().retryable);
  expect_sentence(failed.error(), "no route to anywhere");
  broken->store(2);
  failed = inspect(*store, "election", 60s);
  ASSERT_FALSE(failed);
  expect_sentence(failed.error(), "client failed");
  Person anna(store);
  ASSERT_TRUE(anna.next(EventKind::error));
  broken->store(0);
  EXPECT_TRUE(anna.is_elected());
}

TEST(RedisClientStore, ASlowClientDoesNotHoldUpTheLoop) {
  const RedisServer server;
  const auto loop = make_loop();
  Barrier barrier;
  const auto client = client_of(server);
  const auto slow = make_redis_store(
      [&barrier, client](const std::vector<std::string>& command) {
        barrier.pass();
        return client(command);
      },
      {.lease = lease, .loop = loop});
  RedisOptions options = options_of(server);
  options.loop = loop;
  const auto other = make_redis_store(options);
  barrier.shut(true);
  std::latch answered(1);
  loop->post(
      [&] { slow->inspect("election", [&](const InspectAnswer&) { answered.count_down(); }); });
  ASSERT_TRUE(barrier.somebody_waits());
  EXPECT_TRUE(inspect(*other, "election", 60s));
  barrier.shut(false);
  answered.wait();
}

TEST(RedisClientStore, ACallIsGivenUpWhileTheClientHangs) {
  const RedisServer server;
  Barrier barrier;
  const auto client = client_of(server);
  const auto store = make_redis_store(
      [&barrier, client](const std::vector<std::string>& command) {
        barrier.pass();
        return client(command);
      },
      {.lease = lease});
  Person anna(store);
  ASSERT_TRUE(anna.is_elected());
  barrier.shut(true);
  ASSERT_TRUE(anna.next(EventKind::jeopardy));
  const auto lost = anna.next(EventKind::lost);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->reason, LossReason::lease_expired);
  barrier.shut(false);
  EXPECT_TRUE(anna.next(EventKind::elected));
}

// What the client uses may go when the store has gone: its end waits for a command that runs.
TEST(RedisClientStore, EndsWhileACommandRuns) {
  const RedisServer server;
  Barrier barrier;
  std::atomic<bool> running = false;
  const auto client = client_of(server);
  auto store = make_redis_store(
      [&, client](const std::vector<std::string>& command) {
        running = true;
        barrier.pass();
        auto reply = client(command);
        running = false;
        return reply;
      },
      {.lease = lease});
  barrier.shut(true);
  store->executor().post([&, plain = store.get()] {
    for (int i = 0; i < 3; ++i) plain->inspect("election", [](const InspectAnswer&) {});
  });
  ASSERT_TRUE(barrier.somebody_waits());
  std::thread opens([&] { barrier.shut(false); });
  store.reset();
  EXPECT_FALSE(running);
  opens.join();
}

TEST(RedisClientStore, EndsWithoutHoldingUpTheLoop) {
  const RedisServer server;
  const auto loop = make_loop();
  Barrier barrier;
  auto hanging = make_redis_store(
      [&barrier](const std::vector<std::string>&) {
        barrier.pass();
        return RedisReply{};
      },
      {.lease = lease, .loop = loop});
  RedisOptions options = options_of(server);
  options.loop = loop;
  const auto other = make_redis_store(options);
  barrier.shut(true);
  loop->post([plain = hanging.get()] { plain->inspect("election", [](const InspectAnswer&) {}); });
  ASSERT_TRUE(barrier.somebody_waits());
  std::thread ends([&] { hanging.reset(); });
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(inspect(*other, "election", 60s));
  barrier.shut(false);
  ends.join();
}

// What was asked of a client that hung is not made up for: nobody waits for it any more.
TEST(RedisClientStore, WhatWasGivenUpIsNotExecutedLater) {
  const RedisServer server;
  Barrier barrier;
  std::atomic<int> executed = 0;
  const auto client = client_of(server);
  const auto store = make_redis_store(
      [&, client](const std::vector<std::string>& command) {
        executed += 1;
        barrier.pass();
        return client(command);
      },
      {.lease = lease});
  ASSERT_TRUE(inspect(*store, "election", 60s));
  barrier.shut(true);
  const int before = executed;
  std::latch answered(20);
  store->executor().post([&, plain = store.get()] {
    for (int i = 0; i < 20; ++i) {
      plain->inspect("election", [&](const InspectAnswer&) { answered.count_down(); });
    }
  });
  ASSERT_TRUE(barrier.somebody_waits());
  EXPECT_FALSE(inspect(*store, "election", lease / 2));
  barrier.shut(false);
  answered.wait();
  EXPECT_LE(executed - before, 2);  // the one that hung, and one that was asked with it
}

TEST(RedisClientStore, GoesOnWithARestartedServer) {
  RedisServer server;
  Person anna(given(server), "anna");
  ASSERT_TRUE(anna.is_elected());
  Person bob(given(server), "bob");
  ASSERT_TRUE(bob.next(EventKind::follower));
  server.restart_without_data();
  // Bob's client has not noticed yet; the server it greeted is another one now.
  anna->request_stop();
  EXPECT_TRUE(bob.is_elected());
}

TEST(RedisClientStore, AFailedGreetingIsNotMixedWithTheNext) {
  const RedisServer server;
  const auto client = client_of(server);
  const auto asked = std::make_shared<std::atomic<int>>(0);
  const auto campaigns = std::make_shared<std::atomic<bool>>(false);
  const auto with_identity = std::make_shared<std::atomic<bool>>(false);
  const auto store = make_redis_store(
      [=](const std::vector<std::string>& command) {
        if (asked->fetch_add(1) == 0) throw std::runtime_error("the first one is lost");
        // The identity of the server that was greeted is the last but two of a campaign.
        if (command.size() > 15 && !campaigns->exchange(true)) {
          with_identity->store(command[command.size() - 3].size() == 40);
        }
        return client(command);
      },
      {.lease = lease});
  // Whoever hears of the failure asks again at once, while the rest of the greeting is on its way.
  std::latch answered(1);
  const Bid bid{.election = "election", .candidate = "anna", .attempt = {1, 2}};
  store->executor().post([&, plain = store.get()] {
    plain->campaign(bid, [&, plain](const CampaignAnswer& first) {
      EXPECT_TRUE(std::holds_alternative<Unknown>(first));
      plain->campaign(bid, [&](const CampaignAnswer& second) {
        EXPECT_TRUE(std::holds_alternative<Held>(second)) << "the server is young";
        answered.count_down();
      });
    });
  });
  answered.wait();
  EXPECT_TRUE(with_identity->load());
}

TEST(RedisClientStore, WhoHasNotAuthenticatedIsTold) {
  const RedisServer server({.password = "right"});
  Person anna(given(server));
  const Error error = anna.error(ErrorCode::denied);
  EXPECT_FALSE(error.retryable);
  expect_sentence(error, "wants a password: let that client authenticate");
}

TEST(RedisClientStore, AClusterIsRefused) {
  const RedisServer server({.extra = {"cluster-enabled yes"}});
  Person anna(given(server));
  const Error error = anna.error(ErrorCode::unsupported);
  EXPECT_FALSE(error.retryable);
  expect_sentence(error, "belongs to a cluster, which is not supported yet: use a server of its");
}

TEST(RedisClientStore, RepliesThatMakeNoSenseAreTold) {
  const auto store =
      make_redis_store([](const std::vector<std::string>&) { return RedisReply{std::int64_t{7}}; },
                       {.lease = lease});
  Person anna(store);
  const auto event = anna.next(EventKind::error);
  ASSERT_TRUE(event);
  expect_sentence(*event->error, "no sense");
}

}  // namespace
}  // namespace conclave::conformance
