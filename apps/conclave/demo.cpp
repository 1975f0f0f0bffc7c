// Three candidates as processes, hand-overs and crashes, in about ten seconds.
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/joiner.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/signals.hpp"
#include "apps/conclave/verbs.hpp"

namespace conclave::app {
namespace {

using namespace std::chrono_literals;

constexpr Duration patience = 20s;
constexpr Duration pause_between = 700ms;  // for the eye

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// A folder that goes with its owner, unless that wants to keep it.
class Folder {
 public:
  explicit Folder(bool keep) : keep_(keep) {
    std::string pattern = std::filesystem::temp_directory_path() / "conclave-demo-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error(pattern + ": a folder could not be made");
    }
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    if (!keep_) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  bool keep_;
  std::string path_;
};

struct HandOver {
  bool crash = false;
  std::string from;
  std::string to;
  Duration took{};
};

class Demo {
 public:
  explicit Demo(const StoreArguments& store) : crowd_(store, "demo"), begun_(boot_now()) {}

  bool elect() {
    for (const char* id : {"ann", "ben", "cat"}) crowd_.add(id);
    tell("three candidates start: ann, ben, cat");
    return wait_for_leader().has_value();
  }

  bool resign() {
    const std::string before = leader_;
    tell(before + " is asked to resign");
    crowd_.at(before).send(SIGUSR1);
    lost_at_.reset();
    const auto elected = wait_for_leader();
    if (!elected || !lost_at_) return false;
    return done({false, before, leader_, *elected - *lost_at_});
  }

  bool crash() {
    const std::string before = leader_;
    tell(before + " is killed (kill -9)");
    const Instant killed = boot_now();
    crowd_.at(before).send(SIGKILL);
    const auto elected = wait_for_leader();
    if (!elected || !done({true, before, leader_, *elected - killed})) return false;
    crowd_.remove(before);
    crowd_.add(before);
    tell(before + " is started again");
    return true;
  }

  // Lets people look, and the crowd settle.
  void rest() {
    const Instant until = boot_now() + pause_between;
    while (const auto said = crowd_.next(until - boot_now())) hear(*said);
  }

  [[nodiscard]] const std::vector<HandOver>& hand_overs() const { return hand_overs_; }

 private:
  void tell(const std::string& what) const {
    std::printf("%7.3f s  %s\n", seconds(boot_now() - begun_), what.c_str());
    std::fflush(stdout);
  }

  bool done(HandOver hand_over) {
    std::printf("%11s%s leads after %s\n", "", hand_over.to.c_str(),
                human(seconds(hand_over.took)).c_str());
    std::fflush(stdout);
    hand_overs_.push_back(std::move(hand_over));
    return true;
  }

  void hear(const Said& said) {
    if (said.event == "lost") lost_at_ = said.at;
    if (said.event == "elected") leader_ = said.candidate;
    if (said.event == "elected") {
      tell(said.candidate + " is elected, term " + std::to_string(said.term));
    }
  }

  std::optional<Instant> wait_for_leader() {
    while (const auto said = crowd_.next(patience)) {
      hear(*said);
      if (said->event == "elected") return said->at;
    }
    return std::nullopt;
  }

  Crowd crowd_;
  const Instant begun_;
  std::string leader_;
  std::optional<Instant> lost_at_;
  std::vector<HandOver> hand_overs_;
};

void print_table(const std::vector<HandOver>& all) {
  std::printf("\n%-24s %6s %10s %10s\n", "hand-over", "times", "median", "slowest");
  for (const bool crash : {false, true}) {
    std::vector<Duration> took;
    for (const HandOver& each : all) {
      if (each.crash == crash) took.push_back(each.took);
    }
    if (took.empty()) continue;
    std::sort(took.begin(), took.end());
    std::printf("%-24s %6zu %10s %10s\n", crash ? "after kill -9" : "after a resignation",
                took.size(), human(seconds(took[took.size() / 2])).c_str(),
                human(seconds(took.back())).c_str());
  }
  std::printf("\nAt no time two of them led; each term had a higher number than the one before.\n");
}

}  // namespace

int demo(const DemoArguments& arguments) {
  const Folder folder(arguments.keep);
  Demo demo({"file:" + folder.path(), {}});
  bool went_well = demo.elect();
  for (int round = 0; went_well && round < arguments.rounds; ++round) {
    demo.rest();
    went_well = round % 3 == 2 ? demo.resign() : demo.crash();
  }
  if (!went_well) {
    complain("nobody was elected within 20 seconds: is this machine very busy?");
    return failed;
  }
  print_table(demo.hand_overs());
  if (arguments.keep) std::printf("The folder is %s\n", folder.path().c_str());
  return ok;
}

}  // namespace conclave::app
