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
  // All have seen it when the writer next reads the clock: nobody reads "yes" at a later instant.
  void clear() noexcept { deadline_.store(0, std::memory_order_seq_cst); }

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
      const Instant now = clock.now();
      const Validity& then = *after(now);
      if (then.deadline_.load(std::memory_order_acquire) == deadline) {
        return Instant{Duration{deadline}} - now > work;
      }
    }
    return false;
  }

 private:
  friend class ValidityPages;

  // This object, to be looked at no earlier than that reading of the clock. A processor may load
  // before it has read the clock, and would for some nanoseconds see what is over by then; unless
  // the address needs the reading. It does not know that anything & 0 is nothing.
  [[nodiscard]] const Validity* after(Instant reading) const noexcept {
#if defined(__x86_64__)
    std::int64_t nothing = reading.time_since_epoch().count();
    asm("and $0, %0" : "+r"(nothing) : : "cc");
    return reinterpret_cast<const Validity*>(reinterpret_cast<const char*>(this) + nothing);
#else
    static_cast<void>(reading);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return this;
#endif
  }

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
