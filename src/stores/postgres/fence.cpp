// The statement that lets only the present term commit.
#include <limits>
#include <stdexcept>

#include <conclave/names.hpp>
#include <conclave/postgres.hpp>

#include "stores/postgres/statements.hpp"

namespace conclave {
std::string postgres_fence(std::string_view election, Term term, std::string_view schema) {
  if (const auto error = check_election_name(election)) throw std::invalid_argument(error->message);
  if (!term.exists() || term.value > std::numeric_limits<std::int64_t>::max()) {
    throw std::invalid_argument("term: that is none: give the one of your leadership");
  }
  const std::string number = std::to_string(term.value);
  const std::string over =
      "term " + number + " of the election \"" + std::string(election) + "\" is over";
  return postgres::anonymous_block(
      "perform 1 from " + postgres::Tables(schema, "conclave").election +
      " where name = " + postgres::literal(election) + " and term = " + number +
      " and state = 'held' and not ended for key share; if not found then raise exception using "
      "errcode = " +
      postgres::literal(postgres_fence_sqlstate) + ", message = " + postgres::literal(over) +
      "; end if");
}

}  // namespace conclave
