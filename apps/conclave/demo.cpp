// Three candidates as processes, hand-overs and crashes, in about ten seconds.
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>

#include "apps/conclave/clock.hpp"
#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/joiner.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/signals.hpp"
#include "apps/conclave/verbs.hpp"
#include "apps/conclave/witness.hpp"

namespace conclave::app {
namespace {

using namespace std::chrono_literals;

constexpr Duration patience = 20s;
constexpr Duration pause_between = 800ms;  // for the eye
constexpr std::array<const char*, 3> names{"ann", "ben", "cat"};

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

// Why it ended before its end, as an exit code.
struct Ended : std::runtime_error {
  Ended(int why, const std::string& sentence) : std::runtime_error(sentence), code(why) {}
  int code;
};

void tell(const std::string& line) {
  if (!say(line)) throw Ended(failed, "the output was closed by its reader: ended");
}

struct HandOver {
  bool crash = false;
  Duration took{};
};

class Demo {
 public:
  Demo(const StoreArguments& store, const Signals& signals)
      : signals_(signals), crowd_(store, "demo"), begun_(boot_now()) {}

  void elect() {
    tell("Three processes want to lead. # leads, . stands by, x was killed and restarts.");
    tell(std::string(9, ' ') + "ann ben cat");
    for (const char* name : names) crowd_.add(name);
    wait_for([this] { return !leader_.empty(); });
    show(leader_ + " is elected");
  }

  void resign() {
    const std::string before = leader_;
    lost_at_.reset();
    crowd_.at(before).send(SIGUSR1);
    wait_for([&] { return leader_ != before && lost_at_; });  // they may be heard in any order
    hand_over(before + " resigns", {false, elected_at_ - *lost_at_});
  }

  void crash() {
    const std::string before = leader_;
    Joiner& victim = crowd_.at(before);
    killed_ = before;
    const Instant killed = boot_now();
    victim.send(SIGKILL);
    victim.wait_for_end();
    for (const Said& last_words : victim.read()) hear(last_words);
    witness_.killed(before, killed);
    stands_[before] = false;
    wait_for([&] { return leader_ != before; });
    hand_over("kill -9 " + before, {true, elected_at_ - killed});
    crowd_.remove(before);
    crowd_.add(before);
    killed_.clear();
  }

  // Lets people look, and the crowd settle: nobody measures a start.
  void rest() {
    const Instant until = boot_now() + pause_between;
    while (const auto said = next(until - boot_now())) hear(*said);
    wait_for([this] {
      return std::all_of(names.begin(), names.end(), [this](auto name) { return stands_[name]; });
    });
  }

  [[nodiscard]] const std::vector<HandOver>& hand_overs() const { return hand_overs_; }
  [[nodiscard]] const Witness& witness() const { return witness_; }

 private:
  // One line of the timeline, with a column for each.
  void show(const std::string& what) {
    std::array<char, 32> time{};
    std::snprintf(time.data(), time.size(), "%6.3f s ", seconds(elected_at_ - begun_));
    std::string line = time.data();
    for (const char* name : names) {
      line += std::string(" ") + (name == leader_ ? '#' : name == killed_ ? 'x' : '.') + "  ";
    }
    tell(line + what + ", term " + std::to_string(term_));
  }

  void hand_over(const std::string& how, HandOver hand_over) {
    show(how + ": " + leader_ + " leads after " + human(seconds(hand_over.took)));
    hand_overs_.push_back(hand_over);
  }

  void hear(const Said& said) {
    witness_.hear(said);
    if (said.event == "lost") lost_at_ = said.at;
    if (said.event == "elected" || said.event == "follower") stands_[said.candidate] = true;
    if (said.event == "elected") {
      leader_ = said.candidate;
      elected_at_ = said.at;
      term_ = said.term;
    }
  }

  std::optional<Said> next(Duration limit) {
    auto said = crowd_.next(limit, signals_.fd());
    if (const auto signal = signals_.take()) {
      throw Ended(by_signal + *signal, "interrupted: ended all candidates");
    }
    return said;
  }

  template <typename Condition>
  void wait_for(Condition holds) {
    while (!holds()) {
      const auto said = next(patience);
      if (!said) throw Ended(failed, "nobody was elected within 20 s: is the machine very busy?");
      hear(*said);
    }
  }

  const Signals& signals_;
  Crowd crowd_;
  Witness witness_;
  const Instant begun_;
  std::map<std::string, bool> stands_;  // has taken part since it was started
  std::string leader_;
  std::string killed_;
  std::uint64_t term_ = 0;
  Instant elected_at_{};
  std::optional<Instant> lost_at_;
  std::vector<HandOver> hand_overs_;
};

// As a column of ten; µ is two bytes and one letter.
std::string column(Duration duration) {
  const std::string text = human(seconds(duration));
  const auto letters = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  });
  return std::string(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, 10 - letters)), ' ') +
         text;
}

void show_table(const std::vector<HandOver>& all) {
  std::array<char, 128> line{};
  std::snprintf(line.data(), line.size(), "\n%-20s %6s %10s %10s", "hand-over", "times", "median",
                "slowest");
  tell(line.data());
  for (const bool crash : {false, true}) {
    std::vector<Duration> took;
    for (const HandOver& each : all) {
      if (each.crash == crash) took.push_back(each.took);
    }
    if (took.empty()) continue;
    std::sort(took.begin(), took.end());
    std::snprintf(line.data(), line.size(), "%-20s %6zu %s %s",
                  crash ? "after kill -9" : "after a resignation", took.size(),
                  column(took[took.size() / 2]).c_str(), column(took.back()).c_str());
    tell(line.data());
  }
}

void show_verdict(const Witness& witness) {
  if (const auto breach = witness.breach()) {
    throw Ended(failed, "the promise was broken, please report this: " + *breach);
  }
  tell("\nChecked from what they said: no two led at once, and each of the " +
       std::to_string(witness.terms()) + " terms was above the last.");
}

}  // namespace

int demo(const DemoArguments& arguments) {
  const Signals signals{SIGINT, SIGTERM, SIGHUP};
  const Folder folder(arguments.keep);
  try {
    Demo demo({"file:" + folder.path(), {}}, signals);
    demo.elect();
    for (int round = 0; round < arguments.rounds; ++round) {
      demo.rest();
      round % 3 == 2 ? demo.resign() : demo.crash();
    }
    show_table(demo.hand_overs());
    show_verdict(demo.witness());
    if (arguments.keep) tell("The folder is " + folder.path());
  } catch (const Ended& ended) {
    complain(ended.what());
    return ended.code;
  }
  return ok;
}

}  // namespace conclave::app
