#include "net/fork.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <conclave/loop.hpp>

#include "net/asio_loop.hpp"
#include "net/children.hpp"
#include "net/waiting.hpp"

namespace conclave::net {
namespace {

using namespace std::chrono_literals;

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }

int open_nothing() { return ::open("/dev/null", O_RDWR | O_CLOEXEC); }

// Waits until nobody has a lock on that file; false when somebody keeps it.
bool becomes_free(const std::string& path) {
  const Descriptor next(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const auto limit = std::chrono::steady_clock::now() + hang_guard;
  while (::flock(next.get(), LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

// ---------------------------------------------------------------- descriptors

TEST_F(Forks, CloseADescriptorInTheChildOnly) {
  const Descriptor descriptor(open_nothing());
  const int number = descriptor.get();
  EXPECT_TRUE(child_says([&] { return !is_open(number) && !descriptor && descriptor.get() < 0; }));
  EXPECT_TRUE(is_open(number));
  EXPECT_EQ(descriptor.get(), number);
}

TEST_F(Forks, CloseDescriptorsOfAllNumbers) {
  std::vector<Descriptor> descriptors;
  std::vector<int> numbers;
  for (int i = 0; i < 200; ++i) numbers.push_back(descriptors.emplace_back(open_nothing()).get());
  EXPECT_TRUE(child_says([&] { return std::none_of(numbers.begin(), numbers.end(), is_open); }));
  EXPECT_TRUE(std::all_of(numbers.begin(), numbers.end(), is_open));
}

TEST_F(Forks, LeaveAReleasedDescriptorAlone) {
  const int number = open_nothing();
  guard_from_fork(number);
  EXPECT_TRUE(child_says([&] { return !is_open(number) && !release_from_fork(number); }));
  EXPECT_TRUE(release_from_fork(number));
  EXPECT_TRUE(child_says([&] { return is_open(number); }));
  ::close(number);
}

TEST_F(Forks, DoNotCloseWhatTookTheNumberInTheChild) {
  Descriptor descriptor(open_nothing());
  const int number = descriptor.get();
  EXPECT_TRUE(child_says([&] {
    if (::dup2(STDERR_FILENO, number) != number) return false;
    descriptor.reset();
    return is_open(number);
  }));
}

TEST_F(Forks, DoNotCloseADescriptorOfTheChildWithTheSameNumber) {
  Descriptor descriptor(open_nothing());
  const int number = descriptor.get();
  EXPECT_TRUE(child_says([&] {
    const Descriptor mine(::dup2(STDERR_FILENO, number));
    descriptor.reset();
    return is_open(number) && mine.get() == number;
  }));
}

TEST_F(Forks, LetAnInheritedObjectBeUsedAnew) {
  Descriptor descriptor(open_nothing());
  Descriptor other(open_nothing());
  EXPECT_TRUE(child_says([&] {
    Descriptor moved(std::move(other));
    if (moved) return false;
    descriptor = Descriptor(open_nothing());
    const int number = descriptor.get();
    if (!is_open(number)) return false;
    descriptor.reset();
    return !is_open(number);
  }));
}

TEST_F(Forks, LetALockGoWithItsHolder) {
  const std::string path =
      ::testing::TempDir() + "conclave_fork_test_" + std::to_string(::getpid());
  const auto open_file = [&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600); };
  Descriptor holder(open_file());
  ASSERT_EQ(::flock(holder.get(), LOCK_EX | LOCK_NB), 0);
  Gate gate;
  Child child([&] { return gate.wait_in_child(); });
  const Descriptor next(open_file());
  EXPECT_NE(::flock(next.get(), LOCK_EX | LOCK_NB), 0);
  holder.reset();
  // The child closes its copy when it first runs, which may be after fork() has returned here.
  EXPECT_TRUE(becomes_free(path)) << "the child keeps the lock";
  gate.open();
  EXPECT_TRUE(child.succeeds());
  ::unlink(path.c_str());
}

// The child has a copy of what was open at that moment. So that is not what is kept.
TEST_F(Forks, BetweenOpeningAndGuardingLeadToAnotherOpening) {
  const std::string path =
      ::testing::TempDir() + "conclave_fork_test_" + std::to_string(::getpid());
  Gate gate;
  std::optional<Child> child;
  int opened = 0;
  auto holder = Descriptor::opened_by([&] {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    opened += 1;
    if (!child) child.emplace([&] { return gate.wait_in_child(); });
    return file;
  });
  EXPECT_EQ(opened, 2);
  ASSERT_EQ(::flock(holder.get(), LOCK_EX | LOCK_NB), 0);
  holder.reset();
  EXPECT_TRUE(becomes_free(path)) << "the child keeps the lock";
  gate.open();
  EXPECT_TRUE(child->succeeds());
  ::unlink(path.c_str());
}

TEST_F(Forks, AtAnyMomentTakeNoLockAlong) {
  const std::string path =
      ::testing::TempDir() + "conclave_fork_test_" + std::to_string(::getpid());
  for (int turn = 0; turn < 100; ++turn) {
    Gate gate;
    Descriptor holder;
    std::jthread opener([&] {
      holder = Descriptor::opened_by(
          [&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600); });
      EXPECT_EQ(::flock(holder.get(), LOCK_EX | LOCK_NB), 0);
      holder.reset();
    });
    Child child([&] { return gate.wait_in_child(); });
    opener.join();
    ASSERT_TRUE(becomes_free(path)) << "in turn " << turn;
    gate.open();
    EXPECT_TRUE(child.succeeds());
  }
  ::unlink(path.c_str());
}

// ---------------------------------------------------------------- marks

TEST_F(Forks, AreSeenByTheMarksBeforeThem) {
  const ForkMark mark;
  EXPECT_TRUE(child_says([&] {
    const ForkMark mine;
    return mark.in_child() && !mine.in_child() &&
           child_says([&] { return mark.in_child() && mine.in_child(); });
  }));
  EXPECT_FALSE(mark.in_child());
}

// ---------------------------------------------------------------- loops

TEST_F(Forks, LeaveALoopThatDoesNothing) {
  auto loop = make_loop();
  std::atomic<int> ran{0};
  EXPECT_TRUE(child_says([&] {
    if (!loop->in_forked_child()) return false;
    loop->post([&] { ++ran; });
    loop->post_at(Instant{}, [&] { ++ran; });
    std::this_thread::sleep_for(20ms);
    loop.reset();
    return ran == 0;
  }));
  settle(*loop);
}

// Another thread may hold any lock of the loop at the moment of the fork.
TEST_F(Forks, LeaveABusyLoopThatDoesNotHang) {
  auto loop = make_loop();
  std::atomic<bool> over{false};
  const std::jthread poster([&] {
    while (!over) {
      loop->post([] {});
      loop->post_at(Instant{}, [] {});
    }
  });
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(child_says([&] {
      loop->post([] {});
      loop->post_at(Instant{}, [] {});
      loop.reset();
      return true;
    }));
  }
  over = true;
}

TEST_F(Forks, LeaveAStoreThatIsNotDestroyedInTheChild) {
  std::atomic<bool> destroyed{false};
  const std::shared_ptr<Store> inside(static_cast<Store*>(nullptr),
                                      [&](Store*) { destroyed = true; });
  auto store = keep_with_loop(make_loop(), inside);
  EXPECT_TRUE(child_says([&] {
    store.reset();
    return !destroyed;
  }));
}

// A thread of the child may live where a thread of the parent was.
TEST_F(Forks, LetAChildHaveALoopOfItsOwn) {
  auto loop = make_loop();
  settle(*loop);
  EXPECT_TRUE(child_says([&] {
    auto own = make_loop();
    loop.reset();
    std::promise<void> ran;
    own->post([&] { ran.set_value(); });
    if (!comes(ran.get_future()) || own->in_forked_child()) return false;
    own.reset();
    return true;
  }));
}

}  // namespace
}  // namespace conclave::net
