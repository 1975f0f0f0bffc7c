// The manual page, from the table.
#include <conclave/version.hpp>

#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/table.hpp"
#include "apps/conclave/verbs.hpp"

namespace conclave::app {
namespace {

// What troff would take for its own.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n')) {
      (result += "\\&") += c;
    } else {
      result += c;
    }
  }
  return result;
}

std::string verb_section(const VerbSpec& verb) {
  std::string text = ".SS " + escaped(verb.name) + "\n.B conclave " + escaped(verb.name);
  if (!verb.options.empty()) text += " [OPTIONS]";
  text += " " + escaped(verb.operands) + "\n.PP\n" + escaped(verb.summary) + ".\n";
  if (!verb.description.empty()) text += escaped(verb.description) + "\n";
  if (!verb.options.empty()) {
    text += ".PP\nOptions:";
    for (const std::string_view each : verb.options) text += " \\-\\-" + escaped(each);
    text += "\n";
  }
  return text + ".PP\n.nf\n.RS\n" + escaped(verb.example) + "\n.RE\n.fi\n";
}

std::string option_section(const OptionSpec& option) {
  std::string text = ".TP\n.B \\-\\-" + escaped(option.name);
  if (!option.value.empty()) text += " " + escaped(option.value);
  text += "\n" + escaped(option.help);
  if (!option.fallback.empty()) text += " Default: " + escaped(option.fallback) + ".";
  return text + " Variable: " + variable_of(option.name) + ".\n";
}

}  // namespace

int man(const ManArguments&) {
  std::string text = ".TH CONCLAVE 1 \"\" \"conclave " + std::string(library_version) + "\"\n";
  text += ".SH NAME\nconclave \\- leader election for services\n";
  text += ".SH SYNOPSIS\n.B conclave\nVERB [OPTIONS]\n.SH VERBS\n";
  for (const VerbSpec& each : verbs()) text += verb_section(each);
  text +=
      ".SH OPTIONS\nDurations are a number and a unit: 3s, 250ms, 1m30s. The command line goes "
      "before the environment, that before the file named by \\-\\-config.\n";
  for (const OptionSpec& each : options()) text += option_section(each);
  text += ".SH EXIT STATUS\n";
  for (const ExitCodeSpec& each : exit_codes()) {
    text += ".TP\n.B " + escaped(each.code) + "\n" + escaped(each.meaning) + "\n";
  }
  text.pop_back();
  return say_all(text);
}

}  // namespace conclave::app
