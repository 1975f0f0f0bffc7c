// Walks every pair of a state and an input, and compares what follows with a table that people
// read.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "unit/matrix.hpp"

namespace conclave::test {
namespace {

const char* const table_file = CONCLAVE_UNIT_DIR "/state_input_matrix.txt";

const char* const preamble =
    "# What each input does to a candidate in each state:\n"
    "#     state[, form] + input -> next state: what the candidate says, in order\n"
    "# \"...\" stands for: the same state, and nothing said. (It may be remembered for later: a "
    "stop\n"
    "# during a drain.) Answers to calls that were never made do nothing anywhere and are left "
    "out.\n"
    "# Made by state_input_matrix_test with CONCLAVE_UPDATE_GOLDEN=1; read the diff against the\n"
    "# design.\n";

TimingOptions options() {
  TimingOptions options;
  options.drain_limit = 1500ms;
  return options;
}

std::string pair_of(const Form& form, const Kind& kind) { return form.name + " + " + kind.name; }

// The input comes 100 us after the state was reached, so that no timer is due.
std::string follows(const Form& form, const Kind& kind) {
  Rig rig(options());
  const Instant now = form.reach(rig) + 100us;
  const std::string before = rig.state();
  const std::string said = rig.step(now, kind.make(rig));
  if (said.empty() && rig.state() == before) return "...";
  return rig.state() + (said.empty() ? "" : ": " + said);
}

bool is_stale(const Kind& kind) { return kind.name.starts_with("stale "); }

using Table = std::map<std::string, std::string>;

Table read_table() {
  Table table;
  std::ifstream file(table_file);
  for (std::string line; std::getline(file, line);) {
    const auto arrow = line.find(" -> ");
    if (line.starts_with('#') || arrow == std::string::npos) continue;
    table[line.substr(0, arrow)] = line.substr(arrow + 4);
  }
  return table;
}

void write_table() {
  std::ofstream file(table_file);
  file << preamble;
  for (const Form& form : all_forms()) {
    file << '\n';
    for (const Kind& kind : all_kinds()) {
      if (!is_stale(kind)) file << pair_of(form, kind) << " -> " << follows(form, kind) << '\n';
    }
  }
}

TEST(StateInputMatrix, EveryPairDoesWhatTheTableSays) {
  if (std::getenv("CONCLAVE_UPDATE_GOLDEN") != nullptr) write_table();
  Table table = read_table();
  for (const Form& form : all_forms()) {
    for (const Kind& kind : all_kinds()) {
      if (is_stale(kind)) continue;
      const auto expected = table.extract(pair_of(form, kind));
      EXPECT_FALSE(expected.empty()) << "missing from the table: " << pair_of(form, kind);
      if (!expected.empty()) {
        EXPECT_EQ(expected.mapped(), follows(form, kind)) << pair_of(form, kind);
      }
    }
  }
  for (const auto& [pair, result] : table) ADD_FAILURE() << "no such pair any more: " << pair;
  if (HasFailure()) {
    std::cout << "If the new behaviour is right, run with CONCLAVE_UPDATE_GOLDEN=1 and read the "
                 "diff of state_input_matrix.txt.\n";
  }
}

TEST(StateInputMatrix, ReachesEveryState) {
  std::set<std::size_t> reached;
  for (const Form& form : all_forms()) {
    Rig rig(options());
    form.reach(rig);
    EXPECT_TRUE(form.name.starts_with(core::state_name(rig.machine().state()))) << form.name;
    reached.insert(rig.machine().state().index());
  }
  EXPECT_EQ(reached.size(), std::variant_size_v<core::State>);
}

// Notes the alternative of an answer or an observation, or of the input itself.
std::string alternative(const core::Input& input) {
  std::string name = std::to_string(input.index());
  if (const auto* campaign = std::get_if<core::CampaignDone>(&input))
    return name + "." + std::to_string(campaign->answer.index());
  if (const auto* renew = std::get_if<core::RenewDone>(&input))
    return name + "." + std::to_string(renew->answer.index());
  if (const auto* resign = std::get_if<core::ResignDone>(&input))
    return name + "." + std::to_string(resign->answer.index());
  if (const auto* observed = std::get_if<core::Observed>(&input))
    return name + "." + std::to_string(observed->what.index());
  return name;
}

TEST(StateInputMatrix, KnowsEveryInput) {
  std::set<std::string> known;
  const Rig rig;
  for (const Kind& kind : all_kinds()) known.insert(alternative(kind.make(rig)));
  constexpr std::size_t with_alternatives = 4;
  EXPECT_EQ(known.size(), std::variant_size_v<core::Input> - with_alternatives +
                              std::variant_size_v<CampaignAnswer> +
                              std::variant_size_v<RenewAnswer> + std::variant_size_v<Answer> +
                              std::variant_size_v<Observation>);
}

TEST(StateInputMatrix, AnswersToUnknownCallsNeverChangeAnything) {
  for (const Form& form : all_forms()) {
    for (const Kind& kind : all_kinds()) {
      if (!is_stale(kind)) continue;
      EXPECT_EQ(follows(form, kind), "...") << pair_of(form, kind);
    }
  }
}

}  // namespace
}  // namespace conclave::test
