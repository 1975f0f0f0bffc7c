// What the verbs are given: plain structs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <conclave/candidate.hpp>
#include <conclave/open.hpp>
#include <conclave/result.hpp>

namespace conclave::app {

struct StoreArguments {
  std::string url = "file:";
  std::string file{};  // where the URL was read from; empty: the line or the environment
  StoreOptions options{};
};

struct CandidateArguments {
  StoreArguments store{};
  std::string election;
  Options options{};
};

enum class Restart { never, on_failure, always };
enum class OnLost { wait, exit };

struct RunArguments {
  CandidateArguments candidate{};
  std::vector<std::string> command{};
  bool once = false;
  Restart restart = Restart::never;
  OnLost on_lost = OnLost::wait;
  std::optional<Duration> timeout{};
};

struct JoinArguments {
  CandidateArguments candidate{};
  bool json = false;
};

struct ElectionArguments {
  StoreArguments store{};
  std::string election;
  bool json = false;
};
struct StatusArguments : ElectionArguments {};
struct WatchArguments : ElectionArguments {};
struct EndArguments : ElectionArguments {};
struct RemoveArguments : ElectionArguments {
  bool purge = false;
};

struct DoctorArguments {
  StoreArguments store{};
  bool json = false;
};

struct SqlArguments {
  StoreArguments store{};
};

struct BenchArguments {
  std::string what;
  StoreArguments store{};
  int rounds = 50;
  int candidates = 3;
  int elections = 1;
  bool json = false;
  bool is_crowd_given = false;  // the number of candidates
};

struct DemoArguments {
  int rounds = 9;
  bool keep = false;
};
struct CompletionArguments {
  std::string shell;
};
struct ManArguments {};
struct VersionArguments {
  bool json = false;
};

using Command =
    std::variant<RunArguments, JoinArguments, StatusArguments, WatchArguments, EndArguments,
                 RemoveArguments, DoctorArguments, SqlArguments, BenchArguments, DemoArguments,
                 CompletionArguments, ManArguments, VersionArguments>;

// The text of --help, to be printed instead of doing anything.
struct Help {
  std::string text;
};

using Lookup = std::function<const char*(const char*)>;  // getenv

// How many of the arguments are ours: those after are the command of `run`, and its own affair.
[[nodiscard]] int count_of_ours(int argc, const char* const* argv);

// Command line before environment before configuration file before default. An error is one
// sentence that names the option and the fix.
[[nodiscard]] Result<std::variant<Command, Help>> parse(int argc, const char* const* argv,
                                                        const Lookup& environment);

}  // namespace conclave::app
