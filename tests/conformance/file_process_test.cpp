// The file store among real processes: killed, stopped, forked, and many at once.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "conformance/file_rig.hpp"

namespace conclave::conformance {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds lease{300};

struct Pipe {
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  // The next line; empty when none comes.
  std::string read_line() {
    while (text_.find('\n') == std::string::npos) {
      pollfd ready{ends[0], POLLIN, 0};
      if (::poll(&ready, 1, static_cast<int>(milliseconds(hang_guard).count())) <= 0) return {};
      char buffer[4096];
      const auto size = ::read(ends[0], buffer, sizeof buffer);
      if (size <= 0) return {};
      text_.append(buffer, static_cast<std::size_t>(size));
    }
    const auto end = text_.find('\n');
    std::string line = text_.substr(0, end);
    text_.erase(0, end + 1);
    return line;
  }

  int ends[2]{};

 private:
  std::string text_;
};

// A file_contender. It is killed when this goes.
class Process {
 public:
  Process(const std::string& directory, const std::string& id, std::shared_ptr<Pipe> says = {})
      : says_(says ? std::move(says) : std::make_shared<Pipe>()) {
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, hears_.ends[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, says_->ends[1], STDOUT_FILENO);
    std::string words[] = {CONCLAVE_FILE_CONTENDER, directory, std::to_string(lease.count()), id};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                         nullptr};
    if (::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments, environ) != 0) {
      throw std::runtime_error("file_contender cannot be run");
    }
    ::posix_spawn_file_actions_destroy(&actions);
  }
  ~Process() { kill(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void tell(const std::string& line) const {
    const std::string text = line + "\n";
    ASSERT_EQ(::write(hears_.ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string hear() { return says_->read_line(); }
  std::string ask(const std::string& line) {
    tell(line);
    return hear();
  }
  // "granted" alone, with the term kept and above those before.
  std::string take(const std::string& line) {
    tell(line);
    return taken();
  }
  std::string taken() {
    std::istringstream words(hear());
    std::string granted;
    std::string vacancy;
    words >> granted >> term >> vacancy;
    return granted + " " + vacancy;
  }

  void signal(int number) const { ::kill(pid_, number); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  std::uint64_t term = 0;

 private:
  Pipe hears_;
  std::shared_ptr<Pipe> says_;
  pid_t pid_ = 0;
};

std::string held_by(const std::string& leader) { return "held " + leader; }

TEST(FileProcesses, T07_AKilledHolderIsReplacedAtOnce) {
  const Folder folder;
  Process first(folder.path(), "a");
  Process second(folder.path(), "b");
  ASSERT_EQ(first.take("campaign 1"), "granted absent");
  EXPECT_EQ(second.ask("campaign 1"), held_by("a"));
  second.tell("wait 2");
  first.kill();
  EXPECT_EQ(second.taken(), "granted ended");
  EXPECT_GT(second.term, first.term);
}

TEST(FileProcesses, T06_AResignedPlaceIsTakenAtOnce) {
  const Folder folder;
  Process first(folder.path(), "a");
  Process second(folder.path(), "b");
  ASSERT_EQ(first.take("campaign 1"), "granted absent");
  EXPECT_EQ(second.ask("campaign 1"), held_by("a"));
  second.tell("wait 2");
  EXPECT_EQ(first.ask("resign"), "resigned");
  EXPECT_EQ(second.taken(), "granted released");
  EXPECT_GT(second.term, first.term);
  EXPECT_EQ(first.ask("renew"), "lost superseded");
}

TEST(FileProcesses, R01_AStoppedHolderKeepsThePlaceAndGoesOn) {
  const Folder folder;
  Process first(folder.path(), "a");
  Process second(folder.path(), "b");
  Process third(folder.path(), "c");
  ASSERT_EQ(first.take("campaign 1"), "granted absent");
  EXPECT_EQ(second.ask("campaign 1"), held_by("a"));
  second.tell("wait 2");
  first.signal(SIGSTOP);
  const auto until = std::chrono::steady_clock::now() + 3 * lease;
  std::uint64_t attempt = 1;
  while (std::chrono::steady_clock::now() < until) {
    ASSERT_EQ(third.ask("campaign " + std::to_string(attempt++)), held_by("a"));
  }
  first.signal(SIGCONT);
  EXPECT_EQ(first.ask("renew"), "renewed");
  EXPECT_EQ(third.ask("campaign 100000000"), held_by("a"));
  EXPECT_EQ(first.ask("resign"), "resigned");
  EXPECT_EQ(second.taken(), "granted released");
}

TEST(FileProcesses, P10_AForkedChildDoesNotKeepThePlace) {
  const Folder folder;
  Process first(folder.path(), "a");
  Process second(folder.path(), "b");
  ASSERT_EQ(first.take("campaign 1"), "granted absent");
  std::istringstream words(first.ask("fork"));
  std::string word;
  pid_t child = 0;
  words >> word >> child;
  ASSERT_EQ(word, "child");
  EXPECT_EQ(first.ask("renew"), "renewed");
  EXPECT_EQ(second.ask("campaign 1"), held_by("a")) << "the child gave nothing up";
  EXPECT_EQ(first.ask("fork and exit"), "child over");
  EXPECT_EQ(second.ask("campaign 2"), held_by("a")) << "nor did one that ended";
  second.tell("wait 3");
  first.kill();
  EXPECT_EQ(second.taken(), "granted ended");
  EXPECT_EQ(::kill(child, 0), 0) << "the child was to outlive this";
  ::kill(child, SIGKILL);
}

// What many processes said on one pipe, in its order: it cannot be that two were in at once, unless
// the first of them was killed and never spoke again.
class Ledger {
 public:
  explicit Ledger(std::set<std::string>& killed) : killed_(killed) {}

  void note(const std::string& what, const std::string& id, std::uint64_t term) {
    if (buried_.contains(id)) fail(id + " spoke after somebody had taken its place");
    if (what == "in") {
      if (inside_ && !killed_.contains(*inside_)) fail(id + " came in beside " + *inside_);
      if (inside_) buried_.insert(*inside_);
      if (term <= last_) fail("the term did not grow: " + std::to_string(term));
      last_ = term;
      inside_ = id;
      grants += 1;
      return;
    }
    if (inside_ != id) fail(id + " was not in");
    inside_.reset();
  }

  int grants = 0;

 private:
  static void fail(const std::string& sentence) { ADD_FAILURE() << sentence; }

  std::set<std::string>& killed_;
  std::set<std::string> buried_;
  std::optional<std::string> inside_;
  std::uint64_t last_ = 0;
};

TEST(FileProcesses, R13_EightProcessesAreNeverInTogetherAndTermsGrow) {
  constexpr int processes = 8;
  constexpr int wanted = 400;
  const Folder folder;
  const auto says = std::make_shared<Pipe>();
  std::map<std::string, std::unique_ptr<Process>> all;
  std::set<std::string> killed;
  Ledger ledger(killed);
  std::uint64_t next = 1;
  const auto add = [&] {
    const std::string id = "p" + std::to_string(next++);
    all[id] = std::make_unique<Process>(folder.path(), id, says);
    all[id]->tell("contend " + std::to_string(next));
  };
  for (int i = 0; i < processes; ++i) add();
  int died = 0;
  while (ledger.grants < wanted && !::testing::Test::HasFailure()) {
    std::istringstream words(says->read_line());
    std::string what;
    std::string id;
    std::uint64_t term = 0;
    words >> what >> id >> term;
    ASSERT_TRUE(what == "in" || what == "out" || what == "dies") << words.str();
    ledger.note(what, id, term);
    const bool shot = what == "in" && ledger.grants % 25 == 0;
    if (shot) killed.insert(id);
    if (!shot && what != "dies") continue;
    if (!all.contains(id)) continue;  // these are words of somebody who is dead by now
    all.erase(id);
    died += 1;
    add();
  }
  EXPECT_EQ(ledger.grants, wanted);
  EXPECT_GT(died, wanted / 25);
}

}  // namespace
}  // namespace conclave::conformance
