// The test class of the file store, on a real disk, and an ear for what an election tells.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "conformance/file_rig.hpp"

namespace conclave::conformance {

namespace fs = std::filesystem;
using std::chrono::seconds;

// Hears what an election tells, and can be waited for.
struct Ear {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Observation> heard;

  bool wait(const std::function<bool(const std::vector<Observation>&)>& until) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, hang_guard, [&] { return until(heard); });
  }
  template <typename News>
  bool wait_for_last() {
    return wait(
        [](const auto& all) { return !all.empty() && std::holds_alternative<News>(all.back()); });
  }
  std::size_t count() {
    const std::scoped_lock lock(mutex);
    return heard.size();
  }
};

inline std::shared_ptr<Ear> listen(Store& store, const std::string& candidate) {
  auto ear = std::make_shared<Ear>();
  on(store, [&] {
    store.observe("election", candidate, [ear](const Observation& what) {
      const std::scoped_lock lock(ear->mutex);
      ear->heard.push_back(what);
      ear->changed.notify_all();
    });
  });
  return ear;
}

class FileStoreTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<Store> connect(Duration lease = seconds{3}) const {
    return make_file_store({.directory = folder_.path() + "/d", .lease = lease});
  }
  [[nodiscard]] std::string file(const std::string& name = "election.election") const {
    return folder_.path() + "/d/" + name;
  }
  [[nodiscard]] static unsigned mode(const std::string& path) {
    return static_cast<unsigned>(fs::status(path).permissions());
  }
  static Granted granted(Store& store, const Bid& bid) {
    const CampaignAnswer answer = campaign(store, bid);
    const auto* refused = std::get_if<Refused>(&answer);
    EXPECT_TRUE(std::holds_alternative<Granted>(answer))
        << bid.candidate << (refused != nullptr ? ": " + refused->error.message : "");
    const auto* grant = std::get_if<Granted>(&answer);
    return grant != nullptr ? *grant : Granted{};
  }
  static Error refused(Store& store, const Bid& bid) {
    const CampaignAnswer answer = campaign(store, bid);
    const auto* refusal = std::get_if<Refused>(&answer);
    EXPECT_NE(refusal, nullptr);
    return refusal != nullptr ? refusal->error : Error{};
  }
  static Inspection look(Store& store) {
    const InspectAnswer answer = inspect(store);
    EXPECT_TRUE(std::holds_alternative<Inspection>(answer));
    const auto* found = std::get_if<Inspection>(&answer);
    return found != nullptr ? *found : Inspection{};
  }
  // How many descriptors of this process lead into the directory.
  [[nodiscard]] std::size_t open_files() const {
    std::size_t count = 0;
    for (const auto& each : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      count += fs::read_symlink(each, gone).string().starts_with(folder_.path()) ? 1 : 0;
    }
    return count;
  }

  // A look lasts some microseconds, and may be just going on; what stays open is what counts.
  [[nodiscard]] bool soon_open(std::size_t files) const {
    const auto limit = std::chrono::steady_clock::now() + hang_guard;
    while (open_files() != files) {
      if (std::chrono::steady_clock::now() > limit) return false;
      std::this_thread::yield();
    }
    return true;
  }

  Folder folder_;
};

}  // namespace conclave::conformance
