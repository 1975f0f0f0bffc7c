// Opening a file store: directories that will do and that will not, URLs, what a check finds; and
// that a disk which hangs holds up nobody else.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <latch>

#include "conformance/file_rig.hpp"
#include "stores/file/opener.hpp"
#include "stores/file/turns.hpp"

namespace conclave::conformance {
namespace {

namespace fs = std::filesystem;

std::string sentence(FileOptions options) {
  try {
    static_cast<void>(make_file_store(std::move(options)));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return {};
}

// The sentence names the path, or the part of it that is wrong, and says what to do.
void expect_refusal(const std::string& directory, const std::string& fix,
                    const std::string& named = {}) {
  const std::string said = sentence({.directory = directory});
  EXPECT_NE(said.find(named.empty() ? directory : named), std::string::npos) << said;
  EXPECT_NE(said.find(fix), std::string::npos) << said;
}

TEST(FileOpen, ADirectoryThatCannotBeUsedIsRefusedWithASentence) {
  const Folder folder;
  std::ofstream(folder.file("plain")).close();
  expect_refusal(folder.file("plain"), "choose another directory");
  expect_refusal(folder.file("plain") + "/below", "choose another directory", folder.file("plain"));
  expect_refusal("/proc/conclave", "choose a directory that can be made");
  expect_refusal(folder.path() + "/" + std::string(300, 'x'), "shorter path");
  EXPECT_NE(sentence({.directory = std::string("a\0b", 3)}).find("NUL"), std::string::npos);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  const bool is_root = ::geteuid() == 0;  // who may write anywhere
  ASSERT_EQ(is_root ? ::seteuid(65534) : 0, 0);
  expect_refusal(folder.path(), "choose a directory of your own");
  expect_refusal(folder.file("new"), "choose a directory of your own");
  ASSERT_EQ(is_root ? ::seteuid(0) : 0, 0);
  ::chmod(folder.path().c_str(), 0700);
}

TEST(FileOpen, ALeaseOutOfItsRangeIsRefused) {
  const Folder folder;
  EXPECT_NE(sentence({.directory = folder.path(), .lease = Duration{-1}}).find("lease"),
            std::string::npos);
}

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* const now = ::getenv(name)) before_ = now;
    value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Environment() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(FileOpen, TheDefaultDirectoryIsTheUsersOwn) {
  const Environment home("HOME", "/home/somebody");
  {
    const Environment state("XDG_STATE_HOME", "/var/state");
    EXPECT_EQ(default_file_directory(), "/var/state/conclave");
  }
  {
    const Environment state("XDG_STATE_HOME", "relative");
    EXPECT_EQ(default_file_directory(), "/home/somebody/.local/state/conclave");
  }
  const Environment state("XDG_STATE_HOME", nullptr);
  const Environment none("HOME", nullptr);
  EXPECT_TRUE(default_file_directory().ends_with("/.local/state/conclave"));
}

std::string refusal(const std::string& text, const StoreOptions& options = {}) {
  auto url = net::parse_url(text);
  if (!url) return url.error().message;
  net::Url parsed = *std::move(url);
  const auto store = stores::file_opener.open(parsed, options);
  return store ? "" : store.error().message;
}

TEST(FileOpen, UrlsOfAllForms) {
  const Folder folder;
  const Environment state("XDG_STATE_HOME", folder.path().c_str());
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  EXPECT_EQ(refusal("file:"), "");
  EXPECT_EQ(refusal("file:relative/a%20b"), "");
  EXPECT_EQ(refusal("file:" + folder.path() + "/one"), "");
  EXPECT_EQ(refusal("file://" + folder.path() + "/three?force=true"), "");
  EXPECT_EQ(refusal("file://localhost" + folder.path() + "/host?force=false"), "");
  fs::current_path(before);
  for (const char* made : {"conclave", "relative/a b", "one", "three", "host"}) {
    EXPECT_TRUE(fs::is_directory(folder.file(made))) << made;
  }
}

TEST(FileOpen, UrlsThatAreRefused) {
  const Folder folder;
  EXPECT_NE(refusal("file://var/lib/x").find("write file:///var/lib/x"), std::string::npos);
  EXPECT_NE(refusal("file://me@localhost/x").find("user"), std::string::npos);
  EXPECT_NE(refusal("file:" + folder.path() + "?force=maybe").find("force"), std::string::npos);
  EXPECT_NE(refusal("file:" + folder.path(), {.lease = Duration{1}}).find("lease"),
            std::string::npos);
}

std::vector<Finding> findings(const std::string& directory) {
  const auto store = make_file_store({.directory = directory});
  const auto answer = ask<CheckAnswer>(*store, [&](auto done) { store->check(done); });
  const auto* found = std::get_if<std::vector<Finding>>(&answer);
  EXPECT_NE(found, nullptr);
  return found != nullptr ? *found : std::vector<Finding>{};
}

std::size_t count(const std::vector<Finding>& all, Severity severity) {
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [&](const Finding& each) { return each.severity == severity; }));
}

TEST(FileOpen, ACheckSpeaksOfOneMachineOfTmpfsAndOfStrangers) {
  const Folder folder;
  EXPECT_EQ(count(findings(folder.path()), Severity::note), 1U);
  EXPECT_EQ(count(findings(folder.path()), Severity::danger), 0U);
  ::chmod(folder.path().c_str(), 0777);
  EXPECT_EQ(count(findings(folder.path()), Severity::danger), 1U);
  ::chmod(folder.path().c_str(), 0700);
  struct statfs on {};
  if (::statfs("/dev/shm", &on) != 0 || on.f_type != 0x01021994) return;
  std::string in_memory = "/dev/shm/conclave-file-XXXXXX";
  ASSERT_NE(::mkdtemp(in_memory.data()), nullptr);
  EXPECT_EQ(count(findings(in_memory), Severity::warning), 1U);
  fs::remove_all(in_memory);
}

// ---------------------------------------------------------------- a disk that hangs

TEST(FileTurns, WhoWaitsForTheDiskHoldsUpItsOwnElectionOnly) {
  const auto loop = std::make_shared<net::AsioLoop>();
  auto turns = std::make_unique<file::Turns>(loop);
  std::latch hangs(1);
  std::latch other_went_on(1);
  std::latch finished(1);
  std::vector<int> order;
  loop->post([&] {
    turns->at_disk(
        "slow",
        [&] {
          hangs.wait();
          return 1;
        },
        [&](int result) { order.push_back(result); });
    turns->run("slow", [&] { order.push_back(2); });
    turns->run("slow", [&] {
      turns->at_disk(
          "slow", [] { return 3; }, [&](int result) { order.push_back(result); });
    });
    turns->run("slow", [&] {
      order.push_back(4);
      finished.count_down();
    });
    turns->run("other", [&] { other_went_on.count_down(); });
  });
  other_went_on.wait();
  hangs.count_down();
  finished.wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
  std::latch gone(1);
  loop->post([&] {
    turns.reset();
    gone.count_down();
  });
  gone.wait();
}

TEST(FileTurns, ADiskThatHangsDoesNotHangWhoLeaves) {
  const auto hangs = std::make_shared<std::latch>(1);
  const auto ended = std::make_shared<std::latch>(1);
  {
    const auto loop = std::make_shared<net::AsioLoop>();
    std::latch gone(1);
    loop->post([&] {
      auto turns = std::make_unique<file::Turns>(loop);
      turns->at_disk(
          "slow",
          [hangs, ended] {
            hangs->wait();
            ended->count_down();
            return 1;
          },
          [](int) { FAIL() << "nobody was there any more"; });
      turns.reset();
      gone.count_down();
    });
    gone.wait();
  }
  hangs->count_down();
  ended->wait();
}

}  // namespace
}  // namespace conclave::conformance
