// What will happen, in the order of time and, within one instant, of arrival.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "simulation/clocks.hpp"

namespace conclave::sim {

// Bodies stay where they are; only small entries move through the heap.
template <typename Body>
class EventQueue {
 public:
  void push(Real at, Body body) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(bodies_.size());
      bodies_.push_back(std::move(body));
    } else {
      slot = free_.back();
      free_.pop_back();
      bodies_[slot] = std::move(body);
    }
    heap_.push_back({at, next_++, slot});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] Real next_at() const { return heap_.front().at; }

  Body pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const std::uint32_t slot = heap_.back().slot;
    heap_.pop_back();
    free_.push_back(slot);
    return std::move(bodies_[slot]);
  }

 private:
  struct Entry {
    Real at;
    std::uint64_t order;
    std::uint32_t slot;
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }

  std::vector<Entry> heap_;
  std::vector<Body> bodies_;
  std::vector<std::uint32_t> free_;
  std::uint64_t next_ = 0;
};

}  // namespace conclave::sim
