// What a statement gave: its rows, as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct pg_result;

namespace conclave::postgres {

struct Rows {
  [[nodiscard]] static Rows of(const pg_result* result);

  [[nodiscard]] std::size_t size() const noexcept { return count; }
  [[nodiscard]] bool empty() const noexcept { return count == 0; }

  // Null for NULL, and where there is no such row or column.
  [[nodiscard]] const std::string* text(std::size_t row, std::size_t column) const;
  // None for whatever is no whole number of 64 bits.
  [[nodiscard]] std::optional<std::int64_t> number(std::size_t row, std::size_t column) const;

  std::size_t count = 0;
  std::size_t columns = 0;
  std::vector<std::optional<std::string>> cells{};  // row by row
  std::string tag{};                                // such as "UPDATE 1"
};

}  // namespace conclave::postgres
