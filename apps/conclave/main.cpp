#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/password.hpp"
#include "apps/conclave/verbs.hpp"

namespace conclave::app {
namespace {

struct Carry {
  int operator()(const RunArguments& arguments) const { return run(arguments); }
  int operator()(const JoinArguments& arguments) const { return join(arguments); }
  int operator()(const StatusArguments& arguments) const { return status(arguments); }
  int operator()(const WatchArguments& arguments) const { return watch(arguments); }
  int operator()(const EndArguments& arguments) const { return end(arguments); }
  int operator()(const RemoveArguments& arguments) const { return remove(arguments); }
  int operator()(const DoctorArguments& arguments) const { return doctor(arguments); }
  int operator()(const SqlArguments& arguments) const { return sql(arguments); }
  int operator()(const BenchArguments& arguments) const { return bench(arguments); }
  int operator()(const DemoArguments& arguments) const { return demo(arguments); }
  int operator()(const CompletionArguments& arguments) const { return completion(arguments); }
  int operator()(const ManArguments& arguments) const { return man(arguments); }
  int operator()(const VersionArguments& arguments) const { return version(arguments); }
};

template <typename Arguments>
const StoreArguments* store_of(const Arguments& arguments) {
  if constexpr (requires { arguments.candidate.store; }) return &arguments.candidate.store;
  if constexpr (requires { arguments.store; }) return &arguments.store;
  return nullptr;
}

// The number of a closed one would be given to a store, and what we say would go there. Opened the
// wrong way round, it fails as if it were closed.
void keep_numbers() {
  for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(each, F_GETFD) >= 0) continue;
    [[maybe_unused]] const int opened =
        ::open("/dev/null", each == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int start(int argc, char** argv) {
  keep_numbers();
  ::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error to report, not an end without a release
  const auto parsed = parse(argc, argv, [](const char* name) { return std::getenv(name); });
  if (hide_password(count_of_ours(argc, argv), argv)) {
    complain(
        "a password on the command line can be seen by others for a moment: put the URL into "
        "CONCLAVE_STORE, or as store = ... into a file named by --config");
  }
  hide_store_in_environment();
  if (!parsed) {
    complain(parsed.error().message);
    return wrong_usage;
  }
  if (const auto* help = std::get_if<Help>(&*parsed)) {
    return say_all(help->text);
  }
  const auto& command = std::get<Command>(*parsed);
  if (const StoreArguments* store =
          std::visit([](const auto& each) { return store_of(each); }, command)) {
    for (const std::string& sentence : exposed_files(*store)) complain(sentence);
  }
  return std::visit(Carry{}, command);
}

}  // namespace
}  // namespace conclave::app

int main(int argc, char** argv) {
  try {
    return conclave::app::start(argc, argv);
  } catch (const std::invalid_argument& wrong) {
    conclave::app::complain(wrong.what());
    return conclave::app::wrong_usage;
  } catch (const std::exception& failure) {
    conclave::app::complain(failure.what());
    return conclave::app::failed;
  }
}
