#include "apps/conclave/output.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>

#include "apps/conclave/exit_codes.hpp"

namespace conclave::app {
namespace {

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // somebody made it so, and reads
      pollfd wanted{descriptor, POLLOUT, 0};
      ::poll(&wanted, 1, -1);
      continue;
    }
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

void complain(std::string_view sentence) {
  write_all(STDERR_FILENO, "conclave: " + printable(sentence) + "\n");
}

bool say(std::string_view line) { return write_all(STDOUT_FILENO, std::string(line) + "\n"); }

int say_all(std::string_view text) {
  if (say(text)) return ok;
  complain("the output cannot be written: its reader is gone, or the disk is full");
  return failed;
}

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

std::string printable(std::string_view text) {
  std::string result;
  bool after_c2 = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // The second half of the control characters, as UTF-8 has them, begins with C2.
    const bool is_high_control = after_c2 && byte < 0xa0;
    if (is_high_control) result.pop_back();
    after_c2 = byte == 0xc2;
    if (byte < 0x20 || byte == 0x7f || is_high_control) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\x%02x", static_cast<unsigned>(byte));
      result += code.data();
    } else {
      result += c;
    }
  }
  return result;
}

std::string human(double seconds) {
  std::array<char, 32> text{};
  const double size = std::abs(seconds);
  if (size >= 1) {
    std::snprintf(text.data(), text.size(), "%.3g s", seconds);
  } else if (size >= 1e-3) {
    std::snprintf(text.data(), text.size(), "%.3g ms", seconds * 1e3);
  } else {
    std::snprintf(text.data(), text.size(), "%.3g µs", seconds * 1e6);
  }
  return text.data();
}

}  // namespace conclave::app
