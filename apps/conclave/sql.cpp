// Prints what an administrator executes, where candidates must not make the tables themselves.
#include <conclave/open.hpp>

#include "apps/conclave/exit_codes.hpp"
#include "apps/conclave/output.hpp"
#include "apps/conclave/verbs.hpp"

namespace conclave::app {

int sql(const SqlArguments& arguments) {
  const auto schema = schema_of(arguments.store.url);
  if (schema) return say_all(*schema);
  complain(schema.error().message);
  return wrong_usage;
}

}  // namespace conclave::app
