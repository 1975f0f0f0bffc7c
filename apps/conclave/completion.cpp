// Completion scripts, from the table.
#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/table.hpp"
#include "apps/conclave/verbs.hpp"

namespace conclave::app {
namespace {

std::string verb_names() {
  std::string names;
  for (const VerbSpec& each : verbs()) names += (names.empty() ? "" : " ") + std::string(each.name);
  return names;
}

// Operands, where they are words of a list.
std::string operands_of(const VerbSpec& verb) {
  if (verb.operands.find('|') == std::string_view::npos) return {};
  std::string operands(verb.operands);
  for (char& c : operands) c = c == '|' ? ' ' : c;
  return operands;
}

std::string words_of(const VerbSpec& verb) {
  std::string words = "--help";
  for (const std::string_view each : verb.options) words += " --" + std::string(each);
  const std::string operands = operands_of(verb);
  return operands.empty() ? words : words + " " + operands;
}

std::string bash() {
  std::string text =
      "# bash completion for conclave; source <(conclave completion bash)\n"
      "_conclave() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} words\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    words=\"" +
      verb_names() +
      " --help\"\n"
      "  else\n"
      "    case ${COMP_WORDS[1]} in\n";
  for (const VerbSpec& each : verbs()) {
    text += "      " + std::string(each.name) + ") words=\"" + words_of(each) + "\" ;;\n";
  }
  return text +
         "    esac\n"
         "  fi\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "}\n"
         "complete -o default -F _conclave conclave";
}

std::string zsh() {
  std::string text =
      "#compdef conclave\n"
      "# zsh completion for conclave; conclave completion zsh > a folder of $fpath, as _conclave\n"
      "_conclave() {\n"
      "  if (( CURRENT == 2 )); then\n"
      "    compadd -- " +
      verb_names() +
      " --help\n"
      "    return\n"
      "  fi\n"
      "  case $words[2] in\n";
  for (const VerbSpec& each : verbs()) {
    text += "    " + std::string(each.name) + ") compadd -- " + words_of(each) + " ;;\n";
  }
  return text + "  esac\n  _files\n}\n_conclave \"$@\"";
}

std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string fish() {
  std::string text = "# fish completion for conclave; conclave completion fish | source\n";
  for (const VerbSpec& each : verbs()) {
    const std::string name(each.name);
    text += "complete -c conclave -n __fish_use_subcommand -a " + name + " -d " +
            quoted(each.summary) + "\n";
    const std::string after = "complete -c conclave -n '__fish_seen_subcommand_from " + name + "' ";
    if (const std::string operands = operands_of(each); !operands.empty()) {
      text += after + "-a " + quoted(operands) + "\n";
    }
    for (const std::string_view option_name : each.options) {
      const OptionSpec& spec = option(option_name);
      text += after + "-l " + std::string(option_name) + (spec.value.empty() ? "" : " -r") +
              " -d " + quoted(spec.help) + "\n";
    }
  }
  text.pop_back();
  return text;
}

}  // namespace

int completion(const CompletionArguments& arguments) {
  const std::string text = arguments.shell == "bash"  ? bash()
                           : arguments.shell == "zsh" ? zsh()
                                                      : fish();
  return say_all(text);
}

}  // namespace conclave::app
