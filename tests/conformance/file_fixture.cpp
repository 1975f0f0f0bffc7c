// The suite on file, in real time: a directory of its own for each test, one loop for all.
#include <stdlib.h>

#include <filesystem>
#include <vector>

#include <conclave/file.hpp>

#include "conformance/conformance.hpp"
#include "conformance/real_time_fixture.hpp"

namespace conclave::conformance {
namespace {

using std::chrono::milliseconds;

// In memory where that is possible: the suite is about who leads, and a disk that others keep busy
// would only make leases expire. file_store_test.cpp and file_process_test.cpp use a disk.
std::string make_directory() {
  const bool shared_memory = std::filesystem::is_directory("/dev/shm");
  std::string name = (shared_memory ? "/dev/shm" : std::filesystem::temp_directory_path().string());
  name += "/conclave-file-XXXXXX";
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  return name;
}

class FileFixture final : public RealTimeFixture {
 public:
  FileFixture() = default;
  ~FileFixture() override {
    drain();
    std::filesystem::remove_all(directory_);
  }
  FileFixture(const FileFixture&) = delete;
  FileFixture& operator=(const FileFixture&) = delete;

  std::shared_ptr<Store> make_store(Duration lease) override {
    return make_file_store({.directory = directory_, .lease = lease, .loop = loop()});
  }
  Duration lease() const override { return milliseconds{400}; }
  bool has(Ability ability) const override {
    return ability == Ability::pushes || ability == Ability::wipes;
  }
  int rounds(int without_server) const override { return without_server / 50 + 1; }
  void wipe() override {
    for (const auto& each : std::filesystem::directory_iterator(directory_)) {
      std::filesystem::remove_all(each);
    }
  }

 private:
  const std::string directory_ = make_directory();
};

std::unique_ptr<StoreFixture> make() { return std::make_unique<FileFixture>(); }

CONCLAVE_CONFORMANCE(file, make);

class FileScenario : public Conformance {};

INSTANTIATE_TEST_SUITE_P(file, FileScenario, ::testing::Values(MakeFixture{make}),
                         [](const auto&) { return "file"; });

// Nobody wakes anybody: a follower looks once a lease, in case that a wake-up was lost.
TEST_P(FileScenario, T02_AnIdleFollowerLooksOnceALease) {
  const Member first = join("a");
  ASSERT_TRUE(until_leads(first));
  const Member second = join("b");
  const Member third = join("c");
  constexpr int leases = 5;
  run_for(lease() / 2);
  const auto bids = [&] {
    return second.faults->count(Verb::campaign) + third.faults->count(Verb::campaign);
  };
  const auto news = [&] {
    return second.faults->count(Verb::observe) + third.faults->count(Verb::observe);
  };
  const std::uint64_t bids_before = bids();
  const std::uint64_t news_before = news();
  run_for(leases * lease());
  EXPECT_LE(bids() - bids_before, 2U * (leases + 1));
  EXPECT_EQ(news() - news_before, 0U);
  EXPECT_EQ(first.faults->count(Verb::campaign), 1U);
}

// Several candidates of one store object, and of several, in one election and in many.
TEST_P(FileScenario, OneStoreObjectServesManyCandidates) {
  const auto shared = std::make_shared<FaultyStore>(connect());
  std::vector<Member> members;
  for (const char* id : {"a", "b", "c"}) members.push_back(make_on(shared, id));
  members.push_back(make("d"));
  for (const Member& each : members) each->start();
  stop_one_leader_after_the_other(members);
}

}  // namespace
}  // namespace conclave::conformance
