#include "stores/postgres/shape.hpp"

namespace conclave::postgres {
namespace {

constexpr std::string_view wanted = R"sql(
wanted (name, key, columns) as (values
  ($1::text, 'name', array['name text', 'format integer', 'term bigint', 'state text', 'attempt text', 'leader text',
    'metadata text', 'kind text', 'life bigint', 'stamp bigint', 'lease bigint', 'own_lease bigint', 'vacancy text',
    'previous_lease bigint', 'granted bigint', 'vacated bigint', 'ended boolean']),
  ($2, 'life', array['life bigint', 'lease bigint', 'renewed bigint', 'stamp bigint', 'news bigint']),
  ($3, 'timeline', array['timeline text', 'since bigint'])),
ours as materialized (select wanted.*, )sql";

constexpr std::string_view misfit = R"sql( as found from wanted),
misfit as materialized (
  select o.name from ours o where o.found is not null and not (
    o.columns <@ array(
      select a.attname || ' ' || format_type(a.atttypid, null) from pg_attribute a
      where a.attrelid = o.found and a.attnum > 0 and not a.attisdropped)
    and exists (
      select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      where i.indrelid = o.found and i.indisunique and i.indisvalid and i.indnatts = 1 and i.indpred is null
        and a.attname = o.key)))
)sql";

}  // namespace

std::string our_tables(std::string_view find) {
  return std::string(wanted) + std::string(find) + std::string(misfit);
}

}  // namespace conclave::postgres
