// Every verb and option of the command, described once.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace conclave::app {

struct OptionSpec {
  std::string_view name;      // without the dashes
  std::string_view value;     // what stands for its value in help texts; empty: a flag
  std::string_view fallback;  // what holds when it is not given, as text for people
  std::string_view help;      // one sentence
};

struct VerbSpec {
  std::string_view name;
  std::string_view summary;               // one line
  std::string_view operands;              // as in the usage line; empty: none
  std::vector<std::string_view> options;  // names
  std::string_view description;           // a paragraph or two
  std::string_view example;               // commands, one a line
};

[[nodiscard]] std::span<const VerbSpec> verbs();
[[nodiscard]] const VerbSpec& verb(std::string_view name);
[[nodiscard]] const OptionSpec& option(std::string_view name);
[[nodiscard]] std::span<const OptionSpec> options();

// CONCLAVE_ON_LOST for on-lost.
[[nodiscard]] std::string variable_of(std::string_view option);

struct ExitCodeSpec {
  std::string_view code;
  std::string_view meaning;
};
[[nodiscard]] std::span<const ExitCodeSpec> exit_codes();

}  // namespace conclave::app
