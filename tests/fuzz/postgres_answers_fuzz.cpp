// Rows of a PostgreSQL server whose tables somebody else may have written to, its letters and its
// errors.
#include <string_view>

#include "fuzz/store_values.hpp"
#include "stores/postgres/answers.hpp"
#include "stores/postgres/texts.hpp"
#include "stores/postgres/trouble.hpp"

namespace conclave::fuzz {
namespace {

using namespace postgres;

// Cells by lines; ~ is NULL.
Rows rows_in(std::string_view text, std::size_t columns) {
  Rows rows;
  rows.columns = columns;
  for (;;) {
    const auto line = text.substr(0, text.find('\n'));
    auto& cell = rows.cells.emplace_back();
    if (line != "~") cell.emplace(line);
    if (line.size() == text.size()) break;
    text.remove_prefix(line.size() + 1);
  }
  rows.count = rows.cells.size() / columns;
  return rows;
}

void take_campaign(const Rows& rows) {
  if (const auto granted = granted_in({rows, {}, {}, false}, 0)) {
    expect(granted->term.exists(), "a grant has a term");
    count_with(granted->lease);
    count_with(granted->previous_lease);
  }
  if (const auto held = held_in(rows, 0, std::chrono::seconds{1})) {
    count_with(held->look_again_in);
    if (held->record) take(*held->record);
  }
  static_cast<void>(life_in(rows, 0, 15, 16));
  if (const auto refused = refusal_in(rows.text(0, 1), "e")) take_error(*refused);
}

void take_look(const Rows& rows) {
  take(observed_in(rows, 0));
  if (const auto found = inspection_in(rows, 0)) {
    expect(!found->leader || !found->vacancy, "a place is not held and vacant");
    if (found->leader) take(*found->leader);
  }
}

void take_text(const std::string& text) {
  if (const auto letter = letter_in(text)) {
    expect(letter->vacancy != Vacancy::expired, "nobody writes a letter when a lease runs out");
  }
  if (const auto attempt = parse_attempt(text)) {
    expect(parse_attempt(to_text(*attempt)) == attempt, "attempts can be read back");
  }
  expect(channel_of("t", text).size() <= 63, "a channel has the length of a name");
  const auto state = std::string_view(text).substr(0, 5);
  take_error(trouble_of(state, std::string_view(text).substr(state.size()), "the server"));
  take_error(connect_trouble(text, "the server"));
  take_error(broken(text, "the server"));
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string attempt = "0123456789abcdef0123456789abcdef";
  const std::string record =
      "anna\nabout me\n5\n" + attempt + "\n7\n600000\n1700000000000000\n1700000000000000";
  return {
      "1\ngranted\n5\nreleased\n600000\n0\n1700000000000001",
      "1\nheld\n~\n~\n~\n~\n1700000000000001\n" + record + "\n17\nlease",
      "1\nbusy\n~\n~\n~\n~\n1700000000000001",
      "1\nover",
      "1\nnewer",
      "e\n1\nheld\n" + record + "\n17\nadvisory\nf\n1700000000000001",
      "e\n1\nreleased\n~\n~\n5\n~\n~\n~\n~\n~\n~\n~\nf\n1700000000000001",
      "e\n1\nheld\n~\n~\n5\n~\n~\n~\n~\n~\n~\n~\nt\n1700000000000001",
      "1\nrenewed",
      "believed",
      "released 5 some election",
      "changed 6 e",
      attempt,
      "42501permission denied for schema own",
      "57P01terminating connection due to administrator command",
      "connection to server at \"127.0.0.1\", port 1 failed: FATAL:  28P01: password",
  };
}

std::vector<std::string> words() {
  return {"\n",
          "~\n",
          "granted",
          "held",
          "busy",
          "over",
          "finished",
          "newer",
          "released",
          "expired",
          "ended",
          "abandoned",
          "absent",
          "removed",
          "renewed",
          "gone",
          "superseded",
          "0",
          "-1",
          "f\n",
          "t\n",
          "9223372036854775807",
          "-9223372036854775808",
          "8000000000000001",
          "10000000000001",
          "18446744073709551615",
          " ",
          std::string(1, '\0')};
}

}  // namespace conclave::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace conclave;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto rows = fuzz::rows_in(text, 17);
  fuzz::take_text(text);
  // A short input is one row, whatever it lacks.
  for (const auto& each :
       {rows, fuzz::rows_in(text, std::max<std::size_t>(1, rows.cells.size()))}) {
    fuzz::take_campaign(each);
    fuzz::take_look(each);
    static_cast<void>(postgres::renewed_in(each, 0, {}, "the server"));
    static_cast<void>(postgres::removed_in(each, "the server"));
    static_cast<void>(postgres::has_lost_life(each, 2));
  }
  return 0;
}
