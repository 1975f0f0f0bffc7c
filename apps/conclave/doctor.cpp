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
  for (const Finding& each : findings) {
    if (!say(line_of(each, arguments.json))) return failed;
  }
  const Severity worst = findings.empty() ? Severity::note : findings.front().severity;
  if (!arguments.json && worst == Severity::note && !say("nothing here weakens the promise")) {
    return failed;
  }
  if (worst == Severity::danger) return danger_found;
  return worst == Severity::warning ? warnings_found : ok;
}

}  // namespace conclave::app
