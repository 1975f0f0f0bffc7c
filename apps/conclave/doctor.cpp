// Finds settings of the store that weaken the promise.
#include <algorithm>
#include <nlohmann/json.hpp>

#include <conclave/admin.hpp>

#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/verbs.hpp"

namespace conclave::app {
namespace {

constexpr std::string_view to_word(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::danger: return "danger";
  }
  return "unknown";
}

std::string line_of(const Finding& finding, bool json) {
  if (!json) {
    return std::string(to_word(finding.severity)) + ": " + printable(finding.setting) + ": " +
           printable(finding.problem) + "\n  " + printable(finding.fix);
  }
  const nlohmann::ordered_json line = {{"severity", std::string(to_word(finding.severity))},
                                       {"setting", finding.setting},
                                       {"problem", finding.problem},
                                       {"fix", finding.fix}};
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

int doctor(const DoctorArguments& arguments) {
  const auto store = open(arguments.store.url, arguments.store.options);
  Result<std::vector<Finding>> found = check(*store);
  if (!found) {
    complain(found.error().message);
    return failed;
  }
  std::vector<Finding> findings = *std::move(found);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
  const Severity worst = findings.empty() ? Severity::note : findings.front().severity;
  std::string text;
  for (const Finding& each : findings) text += line_of(each, arguments.json) + "\n";
  if (!arguments.json && worst == Severity::note) text += "nothing here weakens the promise\n";
  if (!text.empty()) {
    text.pop_back();  // say_all() ends the line
    if (const int said = say_all(text); said != ok) return said;
  }
  if (worst == Severity::danger) return danger_found;
  return worst == Severity::warning ? warnings_found : ok;
}

}  // namespace conclave::app
