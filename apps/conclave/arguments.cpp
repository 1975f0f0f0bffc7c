// The command line, by CLI11, from the table. The only file that knows CLI11: it takes long to
// compile.
#include "apps/conclave/arguments.hpp"

#include <CLI/CLI.hpp>

#include <conclave/names.hpp>

#include "apps/conclave/table.hpp"
#include "apps/conclave/values.hpp"

namespace conclave::app {
namespace {

struct Given {
  std::string verb;
  Values values;
  std::vector<std::string> operands;
};

std::string footer(const VerbSpec& verb) {
  std::string text;
  if (!verb.description.empty()) text += std::string(verb.description) + "\n\n";
  text += verb.example.find('\n') == std::string_view::npos ? "Example:\n" : "Examples:\n";
  std::string_view rest = verb.example;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    text += "  " + std::string(rest.substr(0, end)) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!verb.options.empty()) {
    text +=
        "\nEvery option may also stand in the environment (--on-lost as CONCLAVE_ON_LOST) or in a\n"
        "file named by --config (on-lost = exit).\n";
  }
  return text;
}

// The usage line as the table has it.
class Formatter final : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string) const override {
    if (app->get_parent() == nullptr) return "Usage: conclave VERB [OPTIONS]\n";
    const VerbSpec& spec = verb(app->get_name());
    return "Usage: conclave " + std::string(spec.name) +
           (spec.options.empty() ? "" : " [OPTIONS]") +
           (spec.operands.empty() ? "" : " " + std::string(spec.operands)) + "\n";
  }
};

std::string help_of(const OptionSpec& option) {
  std::string text(option.help);
  if (!option.fallback.empty()) text += " Default: " + std::string(option.fallback) + ".";
  return text;
}

void add_options(CLI::App& app, const VerbSpec& verb, Given& given) {
  for (const std::string_view name : verb.options) {
    const OptionSpec& spec = option(name);
    const std::string key(name);
    if (spec.value.empty()) {
      app.add_flag_callback(
          "--" + key, [&given, key] { given.values.set(key, "true"); }, help_of(spec));
      continue;
    }
    app.add_option_function<std::string>(
           "--" + key, [&given, key](const std::string& text) { given.values.set(key, text); },
           help_of(spec))
        ->type_name(std::string(spec.value))
        ->take_last();
  }
}

void add_verb(CLI::App& top, const VerbSpec& verb, Given& given) {
  CLI::App* const app = top.add_subcommand(std::string(verb.name), std::string(verb.summary));
  add_options(*app, verb, given);
  if (!verb.operands.empty() && verb.name != "run") {
    app->add_option("operands", given.operands)->type_name(std::string(verb.operands))->group("");
  }
  app->footer(footer(verb));
  app->final_callback([&given, &verb] { given.verb = verb.name; });
}

// What the command line left open: the environment, then the file.
void complete(Values& values, const VerbSpec& verb, const Lookup& environment) {
  // What `run` says to its command is no option for a candidate that this command starts: it would
  // stand in the election of its own parent, and wait for it.
  const bool stands = verb.name == "run" || verb.name == "join";
  const bool within_run = environment("CONCLAVE_TERM") != nullptr;
  for (const std::string_view name : verb.options) {
    if (stands && within_run && name == "election") continue;
    const char* const text = environment(variable_of(name).c_str());
    const bool given = text != nullptr && *text != 0;
    if (given && !values.has(name)) values.set(std::string(name), text);
  }
  if (values.has("config")) values.read_file(values.text("config"));
}

// ---------------------------------------------------------------- values to structs

StoreArguments store_from(Values& values) {
  StoreArguments store;
  store.url = values.text("store", store.url);
  if (values.is_from_file("store")) store.file = values.text("config");
  store.options.lease = values.duration("lease");
  return store;
}

void refuse_if(Values& values, const std::optional<Error>& wrong) {
  if (wrong) values.refuse(wrong->message);
}

std::string checked_election(Values& values, std::string name) {
  refuse_if(values, check_election_name(name));
  return name;
}

std::string election_from(Values& values) {
  if (!values.has("election")) {
    values.refuse("--election is missing: name the election, such as --election reports");
  }
  return checked_election(values, values.text("election"));
}

CandidateArguments candidate_from(Values& values) {
  CandidateArguments candidate;
  candidate.store = store_from(values);
  candidate.election = values.text("election");
  candidate.options.id = values.text("id");
  candidate.options.metadata = values.text("metadata");
  if (values.has("id")) refuse_if(values, check_candidate_id(candidate.options.id));
  refuse_if(values, check_metadata(candidate.options.metadata));
  candidate.options.grace = values.duration("grace");
  candidate.options.drain_limit = values.duration("drain");
  candidate.options.term_limit = values.duration("term-limit");
  return candidate;
}

template <typename Choice>
Choice one_of(Values& values, std::string_view option,
              std::initializer_list<std::pair<std::string_view, Choice>> choices) {
  const std::string text = values.text(option, choices.begin()->first);
  std::string words;
  for (const auto& [word, choice] : choices) {
    if (word == text) return choice;
    words += (words.empty() ? "" : ", ") + std::string(word);
  }
  values.refuse("--" + std::string(option) + ": \"" + text + "\" is none of " + words);
  return choices.begin()->second;
}

Command run_from(Given& given) {
  RunArguments run;
  Values& values = given.values;
  run.candidate = candidate_from(values);
  run.command = given.operands;
  if (run.command.empty()) {
    values.refuse("the command to run is missing: conclave run [OPTIONS] -- COMMAND");
  } else if (!values.has("election")) {
    const std::string& path = run.command.front();
    run.candidate.election = path.substr(path.rfind('/') + 1);
  } else {
    run.candidate.election = checked_election(values, run.candidate.election);
  }
  run.once = values.flag("once");
  run.restart = one_of<Restart>(values, "restart",
                                {{"never", Restart::never},
                                 {"on-failure", Restart::on_failure},
                                 {"always", Restart::always}});
  run.on_lost = one_of<OnLost>(values, "on-lost", {{"wait", OnLost::wait}, {"exit", OnLost::exit}});
  run.timeout = values.duration("timeout");
  if (run.candidate.store.url.starts_with("memory:")) {
    values.refuse(
        "--store: memory: is not shared between processes, so everybody would lead: use "
        "another one, such as file:");
  }
  return run;
}

template <typename Arguments>
Command election_verb_from(Values& values) {
  Arguments arguments;
  arguments.store = store_from(values);
  arguments.election = election_from(values);
  arguments.json = values.flag("json");
  if constexpr (std::is_same_v<Arguments, RemoveArguments>) arguments.purge = values.flag("purge");
  return arguments;
}

std::string operand_from(Given& given, std::string_view choices) {
  std::string word = given.operands.empty() ? "" : given.operands.front();
  const bool known = !word.empty() && word.find('|') == std::string::npos &&
                     ("|" + std::string(choices) + "|").find("|" + word + "|") != std::string::npos;
  if (!known || given.operands.size() > 1) {
    given.values.refuse("conclave " + given.verb + " takes one of " + std::string(choices));
  }
  return word;
}

Command command_from(Given& given) {
  Values& values = given.values;
  if (given.verb == "run") return run_from(given);
  if (given.verb == "join") {
    JoinArguments join{candidate_from(values), values.flag("json")};
    join.candidate.election = election_from(values);
    return join;
  }
  if (given.verb == "status") return election_verb_from<StatusArguments>(values);
  if (given.verb == "watch") return election_verb_from<WatchArguments>(values);
  if (given.verb == "end") return election_verb_from<EndArguments>(values);
  if (given.verb == "remove") return election_verb_from<RemoveArguments>(values);
  if (given.verb == "doctor") return DoctorArguments{store_from(values), values.flag("json")};
  if (given.verb == "sql") return SqlArguments{store_from(values)};
  if (given.verb == "bench") {
    const std::string what = operand_from(given, verb("bench").operands);
    const bool is_long = what == "scale" || what == "idle";
    const int crowd = what == "scale" ? 1000 : what == "idle" ? 101 : 3;
    return BenchArguments{what,
                          store_from(values),
                          values.number("rounds", is_long ? 10 : 50),
                          values.number("candidates", crowd),
                          values.number("elections", 1),
                          values.flag("json"),
                          values.has("candidates")};
  }
  if (given.verb == "demo") return DemoArguments{values.number("rounds", 9), values.flag("keep")};
  if (given.verb == "completion") {
    return CompletionArguments{operand_from(given, verb("completion").operands)};
  }
  if (given.verb == "man") return ManArguments{};
  return VersionArguments{values.flag("json")};
}

// For an option of `run`, such as --lease; not --lease=3s, where it is there already.
bool takes_a_value(std::string_view word) {
  for (const std::string_view name : verb("run").options) {
    if (word == "--" + std::string(name)) return !option(name).value.empty();
  }
  return false;
}

std::string helper(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return "conclave " + (chosen.empty() ? "" : chosen.front()->get_name() + " ") + "--help";
}

// Everywhere else the id of a candidate is called after its owner.
std::string meant_by(const std::string& word, const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  if (word != "--candidate" || chosen.empty()) return {};
  const auto& options = verb(chosen.front()->get_name()).options;
  const bool has_id = std::find(options.begin(), options.end(), "id") != options.end();
  return has_id ? ", --id is" : "";
}

// Repeats no more than what cannot be a password.
Error unknown_word(const CLI::App& app) {
  std::string word = app.remaining(true).front();
  const bool option = word.starts_with('-');
  if (option) word = word.substr(0, word.find('='));
  if (word.find('@') != std::string::npos) word = "an argument";
  if (app.get_subcommands().empty() && !option) {
    return invalid_argument(word + " is not a verb: conclave --help lists them");
  }
  return invalid_argument(word + (option ? " is not an option here" : " is too much") +
                          meant_by(word, app) + ": " + helper(app) + " lists what there is");
}

}  // namespace

int count_of_ours(int argc, const char* const* argv) {
  if (argc < 2 || std::string_view(argv[1]) != "run") return argc;
  int next = 2;
  while (next < argc) {
    const std::string_view word = argv[next];
    if (word == "--" || !word.starts_with('-')) break;
    ++next;
    if (takes_a_value(word)) ++next;
  }
  return std::min(next, argc);
}

Result<std::variant<Command, Help>> parse(int argc, const char* const* argv,
                                          const Lookup& environment) {
  CLI::App app("Leader election for services: one of them leads, with a number to prove it.",
               "conclave");
  Given given;
  app.formatter(std::make_shared<Formatter>());
  for (const VerbSpec& each : verbs()) add_verb(app, each, given);
  app.require_subcommand(0, 1);
  app.footer(
      "conclave VERB --help tells more about each, with examples. The first thing to try:\n"
      "  conclave demo");
  try {
    const int ours = count_of_ours(argc, argv);
    if (argc == 2 && std::string_view(argv[1]) == "--version") return {VersionArguments{}};
    app.parse(ours, argv);
    for (int i = ours; i < argc; ++i) given.operands.emplace_back(argv[i]);
    if (given.verb == "run" && ours < argc && given.operands.front() == "--") {
      given.operands.erase(given.operands.begin());
    }
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return std::variant<Command, Help>(Help{chosen.empty() ? app.help() : chosen.front()->help()});
  } catch (const CLI::ExtrasError&) {
    return unknown_word(app);
  } catch (const CLI::ParseError& wrong) {
    // What follows may be a value, and a value may be a password.
    const std::string words = wrong.what();
    return invalid_argument(words.substr(0, words.find(" = ")) + "; " + helper(app) +
                            " lists what there is");
  }
  if (given.verb.empty()) {
    return invalid_argument("a verb is missing: try conclave demo, or conclave --help");
  }
  complete(given.values, verb(given.verb), environment);
  Command command = command_from(given);
  if (given.values.error()) return *given.values.error();
  return std::variant<Command, Help>(std::move(command));
}

}  // namespace conclave::app
