// Writing to people and programs.
#pragma once

#include <string>
#include <string_view>

namespace conclave::app {

// One sentence on stderr, after the command's name.
void complain(std::string_view sentence);

// One line on stdout, written at once. False when nobody reads it any more.
[[nodiscard]] bool say(std::string_view line);

// All that a verb has to say; the exit code. Complains when it cannot be written.
[[nodiscard]] int say_all(std::string_view text);

[[nodiscard]] bool is_terminal(int descriptor);

// What a name or a message may contain must not move the cursor of whoever looks at it.
[[nodiscard]] std::string printable(std::string_view text);

// "3 s", "1.5 s", "250 ms", "12 µs": for people.
[[nodiscard]] std::string human(double seconds);

}  // namespace conclave::app
