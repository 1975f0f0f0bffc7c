#include "runtime/identity.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <conclave/names.hpp>

namespace conclave::runtime {

std::array<std::uint64_t, 4> random_words() {
  std::array<std::uint64_t, 4> words{};
  if (::getrandom(words.data(), sizeof words, 0) != static_cast<ssize_t>(sizeof words)) {
    throw std::system_error(errno, std::generic_category(), "the kernel gave no random numbers");
  }
  return words;
}

std::string make_id() {
  std::array<char, 65> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"unknown"};
  std::string id = host.data();
  if (id.empty() || check_candidate_id(id)) id = "unknown";
  id += '-';
  std::uint64_t word = random_words()[0];
  for (int digit = 0; digit < 16; ++digit, word >>= 4U) id += "0123456789abcdef"[word % 16];
  return id;
}

}  // namespace conclave::runtime
