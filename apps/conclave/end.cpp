// Ends an election, and removes what one left behind.
#include <nlohmann/json.hpp>

#include <conclave/admin.hpp>

#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/verbs.hpp"

namespace conclave::app {
namespace {

int told(const Result<bool>& was_there, const ElectionArguments& arguments, const char* done) {
  if (!was_there) {
    complain(was_there.error().message);
    return failed;
  }
  if (arguments.json) {
    const nlohmann::ordered_json line{{"election", arguments.election}, {"was_there", *was_there}};
    return say_all(line.dump());
  }
  return say_all(printable(arguments.election) + ": " +
                 (*was_there ? done : "there is no such election"));
}

}  // namespace

int end(const EndArguments& arguments) {
  const auto store = open(arguments.store.url, arguments.store.options);
  return told(
      conclave::end(*store, arguments.election), arguments,
      "ended; its candidates are told, and one that cannot hear it stops when its lease is over");
}

int remove(const RemoveArguments& arguments) {
  const auto store = open(arguments.store.url, arguments.store.options);
  if (arguments.purge) {
    return told(conclave::remove(*store, arguments.election, Remains::nothing), arguments,
                "purged; its terms may begin anew, so tell whatever is fenced by them");
  }
  return told(conclave::remove(*store, arguments.election), arguments,
              "removed; its terms go on growing when it begins anew");
}

}  // namespace conclave::app
