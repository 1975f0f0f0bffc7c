// One process that takes part in elections of the file store, and does what it is told, line by
// line; for file_process_test.cpp.
//
//   file_contender DIRECTORY LEASE_MS ID
//
// clang-format off
//   campaign N     bids once                          > granted TERM VACANCY | held LEADER | refused CODE
//   wait N         bids whenever the place seems free > granted TERM VACANCY
//   renew                                             > renewed | lost REASON | unknown
//   resign                                            > resigned
//   fork           makes a child that lives on        > child PID
//   fork and exit  makes one that ends at once        > child over
//   contend SEED   takes the place and gives it back for ever, and says so; now and then it dies
//                                                     > in ID TERM   > out ID TERM   > dies ID TERM
// clang-format on
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <iostream>
#include <mutex>
#include <sstream>

#include "conformance/file_rig.hpp"

namespace conclave::conformance {
namespace {

class Contender {
 public:
  Contender(const std::string& directory, Duration lease, std::string id)
      : store_(make_file_store({.directory = directory, .lease = lease})), id_(std::move(id)) {
    on(*store_, [this] {
      store_->observe("election", id_, [this](const Observation& what) { heard(what); });
    });
  }

  void obey(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    std::uint64_t number = 0;
    words >> command >> number;
    if (command == "campaign") return say(described(bid_once(number)));
    if (command == "wait") return say(described(bid_until_granted(number)));
    if (command == "renew") return say(renew_once());
    if (command == "resign") return say(resign_once());
    if (line == "fork and exit") return fork_and_exit();
    if (command == "fork") return fork_once();
    if (command == "contend") return contend(number);
    say("what is " + command + "?");
  }

 private:
  // One write, so that the lines of many processes on one pipe do not mix.
  static void say(const std::string& line) {
    const std::string text = line + "\n";
    if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) ::_exit(1);
  }

  void heard(const Observation& what) {
    const std::scoped_lock lock(mutex_);
    free_ = !std::holds_alternative<Record>(what);
    changed_.notify_all();
  }

  CampaignAnswer bid_once(std::uint64_t attempt) {
    mine_ = bid(id_, attempt);
    mine_.attempt.high = static_cast<std::uint64_t>(::getpid());
    CampaignAnswer answer = campaign(*store_, mine_);
    if (const auto* granted = std::get_if<Granted>(&answer)) term_ = granted->term;
    return answer;
  }

  CampaignAnswer bid_until_granted(std::uint64_t attempt) {
    while (true) {
      CampaignAnswer answer = bid_once(attempt);
      const auto* held = std::get_if<Held>(&answer);
      if (held == nullptr) return answer;
      // Without a record somebody was just coming or going; the news may not have been new.
      const Duration patience = held->record ? Duration{hang_guard} : held->look_again_in;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, patience, [this] { return free_; });
      free_ = false;
    }
  }

  static std::string described(const CampaignAnswer& answer) {
    if (const auto* granted = std::get_if<Granted>(&answer)) {
      return "granted " + std::to_string(granted->term.value) + " " +
             std::string(to_string(granted->vacancy));
    }
    if (const auto* held = std::get_if<Held>(&answer)) {
      return "held " + (held->record ? held->record->leader : "");
    }
    if (const auto* refused = std::get_if<Refused>(&answer)) {
      return "refused " + refused->error.message;
    }
    return "unknown";
  }

  std::string renew_once() {
    const RenewAnswer answer = renew(*store_, mine_, term_);
    if (std::holds_alternative<Renewed>(answer)) return "renewed";
    const auto* lost = std::get_if<TermLost>(&answer);
    return lost != nullptr ? "lost " + std::string(to_string(lost->why)) : "unknown";
  }

  std::string resign_once() {
    const Answer answer = resign(*store_, mine_, term_, true);
    return std::holds_alternative<Done>(answer) ? "resigned" : "gone";
  }

  static void fork_once() {
    const pid_t child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
    say("child " + std::to_string(child));
  }

  static void fork_and_exit() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    say("child over");
  }

  [[noreturn]] void contend(std::uint64_t seed) {
    for (std::uint64_t round = 1;; ++round) {
      const CampaignAnswer answer = bid_until_granted(round);
      if (!std::holds_alternative<Granted>(answer)) {
        say("failed " + id_ + " " + described(answer));
        ::_exit(1);
      }
      const std::string what = id_ + " " + std::to_string(term_.value);
      say("in " + what);
      seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
      if ((seed >> 33U) % 16 == 0) {
        say("dies " + what);
        ::kill(::getpid(), SIGKILL);
      }
      say("out " + what);
      resign_once();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool free_ = false;
  std::shared_ptr<Store> store_;
  std::string id_;
  Bid mine_;
  Term term_;
};

}  // namespace
}  // namespace conclave::conformance

int main(int count, char** words) try {
  if (count != 4) return 2;
  conclave::conformance::Contender contender(
      words[1], std::chrono::milliseconds{std::stoi(words[2])}, words[3]);
  std::string line;
  while (std::getline(std::cin, line)) contender.obey(line);
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
