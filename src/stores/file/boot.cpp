#include "stores/file/boot.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "net/fork.hpp"

namespace conclave::file {
namespace {

// The value of a digit, or 16.
std::uint64_t digit(char each) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto found = digits.find(each);
  return found == std::string_view::npos ? digits.size() : found;
}

}  // namespace

Boot this_boot() noexcept {
  const auto file = net::Descriptor::opened_by(
      [] { return ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC); });
  std::array<char, 64> text{};
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : 0;
  Boot boot;
  int digits = 0;
  for (ssize_t i = 0; i < size && digits < 32; ++i) {
    const std::uint64_t value = digit(text[static_cast<std::size_t>(i)]);
    if (value > 15) continue;  // the dashes
    (digits < 16 ? boot.high : boot.low) <<= 4U;
    (digits < 16 ? boot.high : boot.low) |= value;
    digits += 1;
  }
  return digits == 32 ? boot : Boot{};
}

}  // namespace conclave::file
