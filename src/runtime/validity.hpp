// What is_leader() reads: the term and its deadline, for everybody to see without waiting.
//
// They live in pages that the kernel wipes in a forked child: there everybody reads "no".
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include <conclave/term.hpp>
#include <conclave/time.hpp>

namespace conclave::runtime {

class Validity {
 public:
  // One writer: the engine, before it tells anybody.
  void publish(Term term, Instant deadline) noexcept {
    term_.store(term.value, std::memory_order_release);
    deadline_.store(deadline.time_since_epoch().count(), std::memory_order_release);
  }
  void clear() noexcept { deadline_.store(0, std::memory_order_release); }

  // Whether a term is valid now, and stays so for `work`; any term, or that one.
  [[nodiscard]] bool holds(const Clock& clock, Term term = {},
                           Duration work = Duration::zero()) const noexcept {
    // The deadline has to stand before and after the clock is read: otherwise a thread that was
    // paused in between would report a term that was released meanwhile, or read a clock from
    // before it began. Each further turn needs a renewal to be confirmed within those few
    // instructions.
    for (int turn = 0; turn < 3; ++turn) {
      const std::int64_t deadline = deadline_.load(std::memory_order_acquire);
      if (deadline == 0) return false;
      if (term.exists() && term_.load(std::memory_order_acquire) != term.value) return false;
      const Duration left = Instant{Duration{deadline}} - clock.now();
      if (deadline_.load(std::memory_order_acquire) == deadline) return left > work;
    }
    return false;
  }

 private:
  friend class ValidityPages;
  std::atomic<std::uint64_t> term_{0};
  std::atomic<std::int64_t> deadline_{0};  // zero: none
};

// Where they live.
class ValidityPages {
 public:
  ValidityPages() = default;
  ~ValidityPages();
  ValidityPages(const ValidityPages&) = delete;
  ValidityPages& operator=(const ValidityPages&) = delete;

  // Throws std::system_error when the kernel has no such page to give.
  [[nodiscard]] Validity* take();
  void give_back(Validity* validity) noexcept;

 private:
  void add_page();

  std::mutex mutex_;
  std::vector<void*> pages_;
  Validity* free_ = nullptr;  // a list through their terms
};

}  // namespace conclave::runtime
