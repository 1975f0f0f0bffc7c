// Numbers and strings in a row of bytes, little-endian, and their checksum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace conclave::file {

// CRC-32C (Castagnoli): finds every burst of up to 32 bits, and every torn write of sectors with
// a probability of 1 - 2^-32.
[[nodiscard]] inline std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> all{};
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1U) ^ ((value & 1U) * 0x82F63B78U);
      all[i] = value;
    }
    return all;
  }();
  std::uint32_t crc = ~std::uint32_t{0};
  for (const std::byte each : bytes) {
    crc = (crc >> 8U) ^ table[(crc ^ std::to_integer<std::uint32_t>(each)) & 0xFFU];
  }
  return ~crc;
}

class Writer {
 public:
  explicit Writer(std::span<std::byte> bytes) noexcept : bytes_(bytes) {}

  template <typename Number>
  void number(Number value) noexcept {
    auto rest = static_cast<std::make_unsigned_t<Number>>(value);
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      bytes_[at_++] = static_cast<std::byte>(rest & 0xFFU);
      if constexpr (sizeof(Number) > 1) rest = static_cast<decltype(rest)>(rest >> 8U);
    }
  }
  void text(std::string_view text) noexcept {
    std::memcpy(bytes_.data() + at_, text.data(), text.size());
    at_ += text.size();
  }
  [[nodiscard]] std::size_t at() const noexcept { return at_; }

 private:
  std::span<std::byte> bytes_;
  std::size_t at_ = 0;
};

// Reads zeros and empty strings beyond the end, and remembers that it did.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  template <typename Number>
  [[nodiscard]] Number number() noexcept {
    if (!take(sizeof(Number))) return {};
    std::make_unsigned_t<Number> value = 0;
    for (std::size_t i = sizeof(Number); i-- > 0;) {
      if constexpr (sizeof(Number) > 1) value = static_cast<decltype(value)>(value << 8U);
      value = static_cast<decltype(value)>(
          value | std::to_integer<decltype(value)>(bytes_[at_ - sizeof(Number) + i]));
    }
    return static_cast<Number>(value);
  }
  [[nodiscard]] std::string text(std::size_t size) {
    if (!take(size)) return {};
    std::string text(size, '\0');
    std::memcpy(text.data(), bytes_.data() + (at_ - size), size);
    return text;
  }
  [[nodiscard]] bool overran() const noexcept { return overran_; }

 private:
  bool take(std::size_t size) noexcept {
    if (bytes_.size() - at_ < size) {
      overran_ = true;
      return false;
    }
    at_ += size;
    return true;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool overran_ = false;
};

}  // namespace conclave::file
