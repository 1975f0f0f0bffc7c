#include "runtime/validity.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <memory>
#include <system_error>

namespace conclave::runtime {
namespace {

constexpr std::size_t page_size = 4096;

}  // namespace

ValidityPages::~ValidityPages() {
  for (void* page : pages_) ::munmap(page, page_size);
}

Validity* ValidityPages::take() {
  const std::scoped_lock lock(mutex_);
  if (free_ == nullptr) add_page();
  Validity* const taken = free_;
  // While it is free, its term is where the next free one lies.
  free_ = reinterpret_cast<Validity*>(taken->term_.exchange(0));  // NOLINT
  return taken;
}

void ValidityPages::give_back(Validity* validity) noexcept {
  validity->clear();
  const std::scoped_lock lock(mutex_);
  validity->term_.store(reinterpret_cast<std::uintptr_t>(free_));  // NOLINT
  free_ = validity;
}

void ValidityPages::add_page() {
  pages_.reserve(pages_.size() + 1);
  void* const page =
      ::mmap(nullptr, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || ::madvise(page, page_size, MADV_WIPEONFORK) != 0) {
    throw std::system_error(errno, std::generic_category(),
                            "a page that is wiped in forked children could not be had");
  }
  pages_.push_back(page);
  auto* const first = static_cast<Validity*>(page);
  for (std::size_t i = page_size / sizeof(Validity); i-- > 0;) {
    Validity* const made = std::construct_at(first + i);
    made->term_.store(reinterpret_cast<std::uintptr_t>(free_));  // NOLINT
    free_ = made;
  }
}

}  // namespace conclave::runtime
