#include "stores/postgres/rows.hpp"

#include <libpq-fe.h>

#include <charconv>

namespace conclave::postgres {

Rows Rows::of(const pg_result* result) {
  Rows rows;
  rows.count = static_cast<std::size_t>(PQntuples(result));
  rows.columns = static_cast<std::size_t>(PQnfields(result));
  rows.cells.reserve(rows.count * rows.columns);
  for (int row = 0; row < PQntuples(result); ++row) {
    for (int column = 0; column < PQnfields(result); ++column) {
      auto& cell = rows.cells.emplace_back();
      if (PQgetisnull(result, row, column) != 0) continue;
      cell.emplace(PQgetvalue(result, row, column),
                   static_cast<std::size_t>(PQgetlength(result, row, column)));
    }
  }
  rows.tag = PQcmdStatus(const_cast<pg_result*>(result));  // it only reads
  return rows;
}

const std::string* Rows::text(std::size_t row, std::size_t column) const {
  if (row >= count || column >= columns) return nullptr;
  const auto& cell = cells[row * columns + column];
  return cell ? &*cell : nullptr;
}

std::optional<std::int64_t> Rows::number(std::size_t row, std::size_t column) const {
  const std::string* const found = text(row, column);
  if (found == nullptr) return std::nullopt;
  std::int64_t value = 0;
  const char* const end = found->data() + found->size();
  const auto [last, failed] = std::from_chars(found->data(), end, value);
  return failed == std::errc{} && last == end ? std::optional(value) : std::nullopt;
}

}  // namespace conclave::postgres
