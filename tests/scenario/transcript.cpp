#include "scenario/transcript.hpp"

#include <map>
#include <sstream>
#include <stdexcept>

#include "scenario/phrase.hpp"

namespace conclave::test {
namespace {

class Player {
 public:
  void line(const std::string& line) {
    if (line.starts_with(' ')) return;
    if (line.starts_with('@')) return input(line);
    out_ += line + '\n';
    if (line.starts_with("==")) rig_.reset();
    if (line.starts_with('#') || line.starts_with("==") || line.empty()) return;
    header(line);
  }

  std::string take() { return std::move(out_); }

 private:
  void header(const std::string& line) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) throw std::runtime_error("neither header nor input");
    const std::map<std::string, std::optional<Duration> TimingOptions::*> fields = {
        {"lease", &TimingOptions::lease},
        {"renew_interval", &TimingOptions::renew_interval},
        {"request_timeout", &TimingOptions::request_timeout},
        {"grace", &TimingOptions::grace},
        {"drain_limit", &TimingOptions::drain_limit},
        {"cool_down", &TimingOptions::cool_down}};
    options_.*fields.at(line.substr(0, colon)) = parse_duration(line.substr(colon + 2));
  }

  void input(const std::string& line) {
    if (!rig_) begin();
    std::istringstream stream(line.substr(1));
    std::string when;
    std::string phrase;
    stream >> when >> std::ws;
    std::getline(stream, phrase);
    const Instant target = when.starts_with('+') ? now_ + parse_duration(when.substr(1))
                                                 : Instant{parse_duration(when)};
    pass_time(target);
    out_ += line + '\n';
    act(phrase);
  }

  void begin() {
    rig_.emplace(options_);
    now_ = Instant{};
    shown_ = what_it_is();
  }

  // The machine's own timers. One that is due at the very instant of an input is part of its step.
  void pass_time(Instant target) {
    if (target < now_) throw std::runtime_error("time does not run backwards");
    while (rig_->wake() < target) {
      now_ = rig_->wake();
      out_ += "  " + text(now_) + '\n';
      rig_->tick(now_);
      show();
    }
    now_ = target;
  }

  void act(const std::string& phrase) {
    if (phrase == "leads?") return show_leads();
    for (const std::string word : {"pause until ", "suspend until "}) {
      if (phrase.starts_with(word))
        return pause(Instant{parse_duration(phrase.substr(word.size()))});
    }
    rig_->step(now_, parse_input(phrase, *rig_));
    show();
  }

  // What the first look after waking says comes before any step.
  void pause(Instant until) {
    now_ = until;
    out_ += "  " + text(now_) + " wakes\n";
    show_leads();
    rig_->tick(now_);
    show();
  }

  void show_leads() {
    out_ += std::string("    .. ") + (rig_->machine().leads_at(now_) ? "leads" : "does not lead") +
            '\n';
  }

  void show() {
    for (const auto& said : rig_->said()) out_ += "    -> " + said + '\n';
    const std::string is = what_it_is();
    if (is != shown_) out_ += "    .. " + is + '\n';
    shown_ = is;
  }

  [[nodiscard]] std::string what_it_is() const {
    const core::Machine& machine = rig_->machine();
    std::string is =
        std::string("role ") + std::string(to_string(machine.role())) + ": " + rig_->state();
    if (const auto* reserved = std::get_if<core::Reserved>(&machine.state())) {
      is += ", valid from " + text(reserved->valid_from);
    }
    if (const auto* waiting = std::get_if<core::Waiting>(&machine.state())) {
      is += ", looks at " + text(waiting->look_at);
    }
    return is + (machine.at_rest() ? ", at rest" : "");
  }

  TimingOptions options_;
  std::optional<Rig> rig_;
  Instant now_;
  std::string shown_;
  std::string out_;
};

}  // namespace

std::string play(const std::string& scenario) {
  Player player;
  std::istringstream lines(scenario);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    number += 1;
    try {
      player.line(line);
    } catch (const std::exception& problem) {
      throw std::runtime_error("line " + std::to_string(number) + " (" + line +
                               "): " + problem.what());
    }
  }
  return player.take();
}

}  // namespace conclave::test
